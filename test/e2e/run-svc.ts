import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { SVC_BIN } from './served-project.ts'

export interface RunOptions {
  readonly stdin?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  /** Path of the program; default: the built kernel of this repository. */
  readonly program?: string
  /** Called with the process, to send it signals. */
  onStart?(child: ChildProcess): void
}

export interface Ran {
  /** Exit code, or the name of the signal that ended the process. */
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

/** Runs `svc` in a folder until it ends. */
export async function runSvc(folder: string, argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { stdin, env, program = SVC_BIN, onStart } = options
  const child = spawn(process.execPath, [program, ...argv], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', ...env }
  })
  // A command that does not read its input may end before all of it is written.
  child.stdin.on('error', () => {})
  child.stdin.end(stdin ?? '')
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const ended = once(child, 'exit')
  onStart?.(child)
  const [[code, signal], [stdout, stderr]] = await Promise.all([ended, output])
  return { code: (code ?? signal) as number | string, stdout, stderr }
}

/** Parses the error that `--json` prints as the last line of standard error. */
export function errorOf({ stderr }: Ran): { code: string; message: string; hint?: string } {
  return JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error
}
