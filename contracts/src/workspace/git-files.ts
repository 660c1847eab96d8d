import { promisify } from 'node:util'

export interface GitFilesLimits {
  readonly timeoutMs: number
  /** Maximum bytes of the list. */
  readonly maxBytes: number
}

/**
 * Lists the tracked and untracked files below a folder that git does not ignore, relative to the folder, with forward
 * slashes. Returns null without git or a repository, or beyond a limit. Throws the reason of the signal.
 */
export async function gitFiles(
  folder: string,
  { timeoutMs, maxBytes }: GitFilesLimits,
  signal: AbortSignal
): Promise<readonly string[] | null> {
  // Loaded on first use, since most processes do not need it.
  const { execFile } = process.getBuiltinModule('node:child_process')
  // A repository may configure a file monitor program, which git would start; it is disabled here.
  const program = ['-c', 'core.fsmonitor=false', 'ls-files', '-z']
  const options = { cwd: folder, signal, timeout: timeoutMs, maxBuffer: maxBytes }
  try {
    const list = [...program, '--cached', '--others', '--exclude-standard', '--deduplicate']
    const { stdout } = await promisify(execFile)('git', list, options)
    return stdout.split('\0').filter(path => path !== '')
  } catch {
    signal.throwIfAborted()
    return null
  }
}
