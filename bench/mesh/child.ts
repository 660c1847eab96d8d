import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { compile } from '../mcp/servers.ts'
import type { ProgramCall, ProgramReport, ProgramTask, Usage } from './program.ts'

export interface Program {
  readonly file: string
  /** Folder of the temporary files of the children, which may be killed. */
  readonly folder: string
}

/** Compiles the program of the child processes. */
export async function compiledProgram(folder: string): Promise<Program> {
  return { file: await compile(join(import.meta.dirname, 'program.ts')), folder }
}

/** A control plane or nodes in a separate process. */
export class Child {
  readonly #child: ChildProcess
  readonly #usages: ((usage: Usage) => void)[] = []
  #onBegan = (_key: string, _node: string): void => {}
  #ready = ''

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /** Resolves when the child is ready. Rejects if it ends before. */
  static async start({ file, folder }: Program, task: ProgramTask): Promise<Child> {
    const child = fork(file, [], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, TMPDIR: folder }
    })
    const started = new Child(child)
    const ready = new Promise<string>((resolve, reject) => {
      child.on('message', (message: ProgramReport) => {
        if ('ready' in message) resolve(message.ready)
        else if ('usage' in message) started.#usages.shift()?.(message.usage)
        else started.#onBegan(message.began, message.node)
      })
      child.once('exit', (code, signal) => reject(new Error(`the ${task.kind} ended with ${code ?? signal}`)))
    })
    child.send(task)
    started.#ready = await ready
    return started
  }

  /** URL of a control plane. */
  get url(): string {
    return this.#ready
  }

  /** Sets the function that is called when a node of the child begins work. */
  onBegan(listener: (key: string, node: string) => void): void {
    this.#onBegan = listener
  }

  /** Ends the work that the nodes of the child have begun. */
  finish(): void {
    this.#child.send({ call: 'finish' } satisfies ProgramCall)
  }

  usage(): Promise<Usage> {
    const answer = new Promise<Usage>(resolve => this.#usages.push(resolve))
    this.#child.send({ call: 'usage' } satisfies ProgramCall)
    return answer
  }

  /** Kills the process at once. No effect if it has ended. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}
