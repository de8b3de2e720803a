/*
 * Figures.java: what toolchains/phone measures by adb, measured on the phone itself: each bundle of a folder on each
 * device with each setting, by the program `phone` (apps/samples/phone). It knows nothing of Android.
 *
 * Each measurement is a process of its own, so that a driver that crashes costs one of them. The file is written anew
 * after each, so that it is whole whenever the app is ended.
 */
package org.mts.camera;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Figures {
    static final String FILE = "figures.json";
    private static final long LIMIT_S = 120; // of one process
    private static final List<String> ON_PROCESSOR = Arrays.asList("base", "float16");

    private final File program;
    private final File folder; // of the bundles, of what is written, and of the cache
    private final long end;
    private final List<String> results = new ArrayList<>();
    private String listed = "null";

    Figures(File program, File folder, double minutes) {
        this.program = program;
        this.folder = folder;
        this.end = System.nanoTime() + (long) (minutes * 60e9);
    }

    /** Measures all, and writes FILE into the folder. */
    void measure() throws IOException {
        String said = run(new ArrayList<>());
        if (!said.startsWith("{")) {
            results.add("{\"error\": " + quoted(said) + "}");
            write();
            return;
        }
        listed = said;
        List<String> devices = new ArrayList<>();
        Matcher device = Pattern.compile("\"id\": *\"([^\"]*)\"").matcher(said);
        while (device.find()) {
            if (!device.group(1).equals("reference")) {
                devices.add(device.group(1));
            }
        }
        devices.sort((a, b) -> Boolean.compare(isProcessor(a), isProcessor(b)));
        for (String id : devices) {
            for (String setting : settings(said)) {
                if (!isProcessor(id) || ON_PROCESSOR.contains(setting)) {
                    measureBundles(id, setting);
                }
            }
        }
        write();
    }

    private static boolean isProcessor(String device) {
        return device.equals("cpu");
    }

    private static List<String> settings(String said) {
        List<String> found = new ArrayList<>();
        Matcher list = Pattern.compile("\"settings\": *\\[([^\\]]*)\\]").matcher(said);
        Matcher name = Pattern.compile("\"([^\"]*)\"").matcher(list.find() ? list.group(1) : "");
        while (name.find()) {
            found.add(name.group(1));
        }
        return found;
    }

    private void measureBundles(String device, String setting) throws IOException {
        File[] bundles = folder.listFiles((where, name) -> name.endsWith(".mtsb"));
        if (bundles == null) {
            return;
        }
        Arrays.sort(bundles);
        for (File bundle : bundles) {
            String name = bundle.getName().substring(0, bundle.getName().length() - ".mtsb".length());
            String begin = String.format(Locale.ROOT, "{\"bundle\": %s, ", quoted(name));
            String which = String.format(Locale.ROOT, "\"device_id\": %s, \"setting\": %s, ", quoted(device),
                    quoted(setting));
            if (System.nanoTime() > end) {
                results.add(begin + which + "\"skipped\": \"the time is over\"}");
                continue;
            }
            String said = run(Arrays.asList(bundle.getPath(), "--device", device, "--setting", setting, "--cache",
                    new File(folder, "cache").getPath()));
            results.add(begin + (said.startsWith("{") ? said.substring(1)
                    : which + "\"error\": " + quoted(said) + "}"));
            write();
        }
    }

    /** The object that the program printed, or why it printed none. */
    private String run(List<String> words) throws IOException {
        File out = new File(folder, "out.json");
        File errors = new File(folder, "err.txt");
        List<String> command = new ArrayList<>();
        command.add(program.getPath());
        command.addAll(words);
        Process process;
        try {
            process = new ProcessBuilder(command).directory(folder).redirectOutput(out).redirectError(errors).start();
        } catch (IOException failure) {
            return "the program does not start: " + failure.getMessage();
        }
        try {
            if (!process.waitFor(LIMIT_S, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                return "it took longer than " + LIMIT_S + " s";
            }
        } catch (InterruptedException ended) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            return "it was ended";
        }
        String said = read(out).trim();
        return said.startsWith("{") && said.endsWith("}") ? said
                : "it ended with status " + process.exitValue() + ": " + read(errors).trim();
    }

    private static String read(File file) throws IOException {
        return new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
    }

    private void write() throws IOException {
        String text = "{\"listed\": " + listed + ",\n\"results\": [\n" + String.join(",\n", results) + "\n]}\n";
        File fresh = new File(folder, FILE + ".new");
        Files.write(fresh.toPath(), text.getBytes(StandardCharsets.UTF_8));
        Files.move(fresh.toPath(), new File(folder, FILE).toPath(), StandardCopyOption.REPLACE_EXISTING);
    }

    /** A string of JSON. */
    private static String quoted(String text) {
        StringBuilder to = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                to.append('\\').append(c);
            } else if (c < ' ') {
                to.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
            } else {
                to.append(c);
            }
        }
        return to.append('"').toString();
    }
}
