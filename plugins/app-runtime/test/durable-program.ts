import { type Durable, type Host, Interpreter, type Value } from '#interpreter'
import { memoryDurable } from '#workflows'
import { hostOf, LIMITS, programFrom } from './run-program.ts'

export interface DurableProgram {
  readonly interpreter: Interpreter
  readonly lines: string[]
  call(name: string, ...args: Value[]): Value
}

/** A program whose runs and actors are stored in `durable`; `host` replaces parts of its host. */
export function durableProgram(text: string, durable: Durable, host: Partial<Host> = {}): DurableProgram {
  const lines: string[] = []
  const interpreter = new Interpreter(programFrom(text), { ...hostOf(lines), now: Date.now, ...host, durable })
  return { interpreter, lines, call: (name, ...args) => interpreter.call(name, args, LIMITS) }
}

const idle = new Int32Array(new SharedArrayBuffer(4))

/** Returns storage in memory, with a scheduler for due runs. */
export function drivenDurable() {
  let [count, ahead] = [0, 0]
  return {
    ...memoryDurable(duration => void Atomics.wait(idle, 0, 0, duration)),
    now: () => Date.now() + ahead,
    advance(duration: number) {
      ahead += duration
    },
    notify: () => {
      count++
    },
    notified: () => count
  }
}
