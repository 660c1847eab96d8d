import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Program of this folder in a separate process. */
export interface Child<Answer> {
  readonly processId: number
  /** Resolves to the next message. Throws if the process ends. */
  reply(): Promise<Answer>
  ask(question: object): Promise<Answer>
  /** Largest resident set so far in bytes, mapped pages of files included. */
  peakMemory(): number
  stop(): Promise<void>
}

/** Starts a program with `argument`, which it reads with `childArgument`, and waits until it is ready. */
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
    peakMemory: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
    async stop() {
      child.kill()
      await once(child, 'exit')
    }
  }
}

/** Called in the program: returns the argument of `startChild`, and ends the program with its parent. */
export function childArgument<Argument>(): Argument {
  process.on('disconnect', () => process.exit())
  return JSON.parse(process.argv[2] as string) as Argument
}
