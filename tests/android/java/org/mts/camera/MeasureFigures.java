/* Measures figures without Android: PROGRAM FOLDER MINUTES (figures.py). */
package org.mts.camera;

import java.io.File;
import java.io.IOException;

public final class MeasureFigures {
    private MeasureFigures() {
    }

    public static void main(String[] words) throws IOException {
        new Figures(new File(words[0]), new File(words[1]), Double.parseDouble(words[2])).measure();
    }
}
