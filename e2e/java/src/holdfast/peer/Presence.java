package holdfast.peer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A folder in which every holder has a file, or one for each permit, from just after its grant to just before its
 * release. At each moment at least as many permits are held as there are files; there may be more, never fewer.
 */
final class Presence {
    private final Path folder;
    private final List<Path> mine;

    Presence(String folder, String label, int permits) {
        this.folder = Path.of(folder);
        mine = IntStream.range(0, permits).mapToObj(at -> this.folder.resolve(label + "." + at)).toList();
    }

    void enter() throws IOException {
        for (Path file : mine) {
            Files.createFile(file);
        }
    }

    void leave() throws IOException {
        for (Path file : mine) {
            Files.delete(file);
        }
    }

    /** The number of permits of the holders whose label begins with {@code prefix}. */
    int count(String prefix) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return (int) files.filter(file -> file.getFileName().toString().startsWith(prefix)).count();
        }
    }
}
