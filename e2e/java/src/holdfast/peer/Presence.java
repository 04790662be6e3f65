package holdfast.peer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * A folder in which every holder has a file from just after its grant to just before its release. So many files as
 * are there at a time, so many held at that time; there may have been more, never fewer.
 */
final class Presence {
    private final Path folder;
    private final Path mine;

    Presence(String folder, String label) {
        this.folder = Path.of(folder);
        mine = this.folder.resolve(label);
    }

    void enter() throws IOException {
        Files.createFile(mine);
    }

    void leave() throws IOException {
        Files.delete(mine);
    }

    /** Holders whose label begins so. */
    int count(String prefix) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return (int) files.filter(file -> file.getFileName().toString().startsWith(prefix)).count();
        }
    }
}
