import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Program of this folder that runs in a separate process. */
export interface Child<Answer> {
  readonly processId: number
  /** Resolves to the next message. Throws if the process ends. */
  reply(): Promise<Answer>
  ask(question: object): Promise<Answer>
  /** Returns the peak resident set size in bytes, including mapped files. */
  peakMemory(): number
  stop(): Promise<void>
}

/** Starts a program and waits until it is ready. The program reads `argument` with `childArgument`. */
export async function startChild<Answer>(program: string, name: string, argument: object): Promise<Child<Answer>> {
  const file = fileURLToPath(new URL(`./${program}.ts`, import.meta.url))
  const child = fork(file, [JSON.stringify(argument)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const reply = async (): Promise<Answer> => {
    const ended = new AbortController()
    const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`${name} ended with code ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message'), exit]).finally(() => {
      exit.catch(() => {})
      ended.abort()
    })
    return message as Answer
  }
  await reply()
  return {
    processId: child.pid as number,
    reply,
    ask(question) {
      child.send(question)
      return reply()
    },
    peakMemory: () => peakMemory(child.pid as number),
    async stop() {
      child.kill()
      await once(child, 'exit')
    }
  }
}

/** Returns the peak resident set size of a process in bytes, including mapped files. */
export function peakMemory(processId: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1]) * 1024
}

/** For the program: returns the argument of `startChild`, and ends the program when its parent ends. */
export function childArgument<Argument>(): Argument {
  process.on('disconnect', () => process.exit())
  return JSON.parse(process.argv[2] as string) as Argument
}
