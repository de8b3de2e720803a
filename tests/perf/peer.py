"""One other runtime in a process of its own: loads exported models, checks and times them on request.

Started by peers.py and peers_scenario.py. Speaks JSON lines: after loading it says what it is and where its outputs lie;
then it answers each line that it reads; at the end of input it says how much memory it took. A number of frames is
answered by that many times in milliseconds. {"runs": 9, "models": [0, 0, 3]} is answered by the times of 9 frames of
these models, and their processor time together. {"ms": 2000, "schedule": "fit", "networks": [...]} is a turn of a rated
workload (rated.py), answered by what became of its frames. {"arrivals": [0.0, 3.5], "models": [0, 1]} is answered by
when requests of these models that arrive then have ended (arrivals.py). Settings are those under which each runtime is
fastest with float32 and never more threads than cores.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import queue
import resource
import sys
import threading
import time

import numpy

import arrivals
import rated


def memory_bytes():
    """Largest resident size of this process so far."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def dense(array):
    return numpy.array(array, dtype=numpy.float32).ravel()


class OnnxRuntime:
    """One session per model. With workers, each runs on one thread and takes the next model that is due."""

    modes = {"sequential": (0, 1), "sequential, 1 thread": (1, 1), "2 workers of 1 thread": (1, 2)}
    alone = {"sequential, spinning": (0, 1)}

    def __init__(self, threads, workers, spinning=False):
        import onnxruntime

        self.library = onnxruntime
        self.version = onnxruntime.__version__
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        # many sessions have many thread pools: a pool that spins takes the others' cores; one network alone is faster so
        self.options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
        self.options.add_session_config_entry("session.set_denormal_as_zero", "1")

    def load(self, model, data):
        session = self.library.InferenceSession(model["onnx"], self.options, providers=["CPUExecutionProvider"])
        feed = {entry["name"]: array for entry, array in zip(model["inputs"], data)}
        return lambda: session.run(None, feed)


class OpenVino:
    modes = {"latency, 1 stream": (0, 1), "2 workers of 1 thread": (1, 2)}

    def __init__(self, threads, workers):
        import openvino

        self.library = openvino
        self.version = openvino.__version__.split("-")[0]
        self.core = openvino.Core()
        self.settings = {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1",
            "INFERENCE_NUM_THREADS": threads,
        }

    def load(self, model, data):
        compiled = self.core.compile_model(self.core.read_model(model["onnx"]), "CPU", self.settings)
        request = compiled.create_infer_request()
        for index, array in enumerate(data):
            request.set_input_tensor(index, self.library.Tensor(array, shared_memory=True))
        outputs = range(len(compiled.outputs))

        def run():
            request.infer()
            return [request.get_output_tensor(index).data for index in outputs]

        return run


class Ncnn:
    modes = {"sequential": (0, 1), "sequential, 1 thread": (1, 1)}

    def __init__(self, threads, workers):
        import ncnn

        self.library = ncnn
        self.version = ncnn.__version__
        self.threads = threads

    def load(self, model, data):
        net = self.library.Net()
        net.opt.num_threads = self.threads
        for name in dir(net.opt):
            if any(word in name for word in ("fp16", "bf16", "int8")):
                setattr(net.opt, name, False)
        if net.load_param(model["ncnn_param"]) or net.load_model(model["ncnn_bin"]):
            raise RuntimeError("ncnn cannot read " + model["ncnn_param"])
        # a batch of one: ncnn has no batch dimension
        mats = [self.library.Mat(numpy.ascontiguousarray(array[0])) for array in data]
        names = list(zip(net.input_names(), mats))

        def run():
            extractor = net.create_extractor()
            for name, mat in names:
                extractor.input(name, mat)
            return [numpy.array(extractor.extract(name)[1]) for name in net.output_names()]

        return run


class Mnn:
    modes = {
        "sequential": (0, 1),
        "sequential, shared runtime": (0, 1),
        "sequential, 1 thread, shared runtime": (1, 1),
    }

    def __init__(self, threads, workers, shared=False):
        import MNN
        import MNN.expr
        import MNN.nn

        self.library = MNN
        self.version = MNN.version() if callable(getattr(MNN, "version", None)) else "unknown"
        self.threads = threads
        self.shared = self.runtime() if shared else None

    def runtime(self):
        config = {"backend": "CPU", "precision": "high", "numThread": self.threads}
        return self.library.nn.create_runtime_manager((config,))

    def load(self, model, data):
        expr = self.library.expr
        names = [entry["name"] for entry in model["inputs"]]
        manager = self.shared or self.runtime()
        module = self.library.nn.load_module_from_file(model["mnn"], names, model["outputs"], runtime_manager=manager)
        values = [expr.const(array, list(array.shape), expr.NCHW) for array in data]
        return lambda: [numpy.array(value.read()) for value in module.forward(values)]


class LiteRt:
    """TensorFlow Lite files with XNNPACK, which is its default. Inputs stay in the interpreter, outputs are read there.

    It does not know MediaPipe's Convolution2DTransposeBias: a network that ends in it runs without its end, and NumPy
    computes that when outputs are compared.
    """

    modes = {"sequential": (0, 1), "sequential, 1 thread": (1, 1), "2 workers of 1 thread": (1, 2)}

    def __init__(self, threads, workers):
        from ai_edge_litert import interpreter

        self.library = interpreter
        self.version = importlib.metadata.version("ai-edge-litert")
        self.threads = threads

    def load(self, model, data):
        content, finish = {"model_path": model["tflite"]}, None
        if b"Convolution2DTransposeBias" in pathlib.Path(model["tflite"]).read_bytes():
            sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "differential"))
            from tflite_beside_litert import Cut

            cut = Cut(model["tflite"])
            content, finish = {"model_content": cut.data}, cut.finish
        net = self.library.Interpreter(num_threads=self.threads, **content)
        net.allocate_tensors()
        ports = {port["name"]: port["index"] for port in net.get_input_details()}
        for entry, array in zip(model["inputs"], data):
            net.set_tensor(ports[entry["name"]], array)
        views = [net.tensor(port["index"]) for port in net.get_output_details()]

        def run():
            net.invoke()
            return [view() for view in views]

        def checked():
            run()
            run()  # inputs must outlive a run
            values = [numpy.array(view()) for view in views]
            return [finish(values[0])] if finish else values

        run.checked = checked
        return run


RUNTIMES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "ncnn": Ncnn, "mnn": Mnn, "litert": LiteRt}


def one_at_a_time(run):
    """A model that a frame has several times is still one interpreter."""
    lock = threading.Lock()

    def locked():
        with lock:
            run()

    return locked


class Workers:
    """Threads that take the models of a frame one by one."""

    def __init__(self, count):
        self.due = queue.SimpleQueue()
        self.done = queue.SimpleQueue()
        for _ in range(count):
            threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            run = self.due.get()
            try:
                run()
                self.done.put(None)
            except Exception as reason:  # handed to the main thread
                self.done.put(reason)

    def frame(self, runs):
        for run in runs:
            self.due.put(run)
        for _ in runs:
            reason = self.done.get()
            if reason is not None:
                raise reason


def make(name, mode, cores):
    threads, workers = {**RUNTIMES[name].modes, **getattr(RUNTIMES[name], "alone", {})}[mode]
    threads = threads or cores
    if name == "onnxruntime":
        return OnnxRuntime(threads, workers, "spinning" in mode), workers
    if name == "mnn":
        return Mnn(threads, workers, "shared" in mode), workers
    return RUNTIMES[name](threads, workers), workers


def say(answer):
    os.write(say.descriptor, (json.dumps(answer) + "\n").encode())


def cpu_ms():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e3


def times_of(frames, runs, pool):
    times = []
    for _ in range(frames):
        start = time.perf_counter()
        if pool:
            pool.frame(runs)
        else:
            for run in runs:
                run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def wait_for(changed, ms):
    changed.wait(ms if ms is None else max(ms, 0) / 1e3)


def turn(order, names, runs, workers):
    """A turn of a rated workload: what became of each network's frames, and the time of the processor."""
    networks = [rated.Network(**network) for network in order["networks"]]
    begin, used = time.perf_counter(), cpu_ms()
    submissions = rated.run_turn(networks, order["schedule"], order["ms"], workers,
                                 lambda: (time.perf_counter() - begin) * 1e3, wait_for, dict(zip(names, runs)))
    return {"submissions": submissions, "wall_ms": (time.perf_counter() - begin) * 1e3, "cpu_ms": cpu_ms() - used,
            "networks": {n.name: {"latencies": n.latencies, "dropped": n.dropped} for n in networks}}


def offered(order, runs, pool):
    """A turn of requests that arrive by the clock: when each has arrived and ended, and the processor's time."""
    begin, used = time.perf_counter(), cpu_ms()
    frame = (lambda: pool.frame(runs)) if pool else (lambda: [run() for run in runs])
    requests = arrivals.run_turn(order["arrivals"], lambda: (time.perf_counter() - begin) * 1e3,
                                 lambda ms: time.sleep(ms / 1e3), frame)
    return {"requests": requests, "cpu_ms": cpu_ms() - used}


def answer_lines(names, runs, workers):
    pool = Workers(workers) if workers > 1 else None
    runs = [one_at_a_time(run) for run in runs] if pool else runs
    for line in sys.stdin:
        order = json.loads(line)
        used = cpu_ms()
        if not isinstance(order, dict):
            say(times_of(order, runs, pool))
        elif "arrivals" in order:
            say(offered(order, [runs[index] for index in order["models"]], pool))
        elif "models" in order:
            times = times_of(order["runs"], [runs[index] for index in order["models"]], pool)
            say({"times": times, "cpu_ms": cpu_ms() - used})
        else:
            say(turn(order, names, runs, workers))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=RUNTIMES)
    parser.add_argument("mode")
    parser.add_argument("request", help="JSON: models, cores, inputs, outputs")
    arguments = parser.parse_args()
    say.descriptor = os.dup(1)
    os.dup2(2, 1)  # what a runtime prints is none of the answers
    with open(arguments.request, encoding="utf-8") as file:
        request = json.load(file)
    runtime, workers = make(arguments.name, arguments.mode, request["cores"])
    arrays = numpy.load(request["inputs"])
    data = [[arrays[key] for key in model["data"]] for model in request["models"]]
    before = memory_bytes()
    runs = [runtime.load(model, inputs) for model, inputs in zip(request["models"], data)]
    outputs = {f"{index}": numpy.concatenate([dense(value) for value in getattr(run, "checked", run)()])
               for index, run in enumerate(runs)}
    numpy.savez(request["outputs"], **outputs)
    say({"version": runtime.version})
    answer_lines([model["name"] for model in request["models"]], runs, workers)
    say({"peak_bytes": memory_bytes() - before})


if __name__ == "__main__":
    main()
