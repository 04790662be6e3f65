package holdfast.peer;

import java.util.List;

/** What a line asks for. It runs on a thread of its own, so it may block. */
interface Command {
    List<String> run(List<String> arguments) throws Exception;
}
