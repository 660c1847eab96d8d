import { createInterface, type Interface } from 'node:readline'
import type { CommandIo } from '@svc/plugin-sdk'

const FENCE = '"""'

/** Reads questions from a terminal, with the usual Ctrl-C and Ctrl-D of a prompt. */
export class Lines {
  readonly #readline: Interface
  readonly #arrived: string[] = []
  #waiting: ((line: string | null) => void) | undefined
  #closed = false
  /** True after Ctrl-C at the prompt: a second one on an empty line ends the chat. */
  #leaving = false
  /** Aborts the current answer on Ctrl-C; null while none is streamed. */
  interrupt: (() => void) | null = null

  constructor({ stdin, stdout, signal }: CommandIo) {
    this.#readline = createInterface({ input: stdin, output: stdout, terminal: true, prompt: '>>> ', historySize: 500 })
    this.#readline.on('line', line => this.#take(line))
    this.#readline.on('SIGINT', () => this.#onInterrupt(stdout))
    this.#readline.on('close', () => this.#close())
    signal.addEventListener('abort', () => this.close(), { once: true })
  }

  /** Returns the next question, or null at the end of the input. Lines between two {@link FENCE} form one question. */
  async next(): Promise<string | null> {
    const line = await this.#line('>>> ')
    if (line === null || !line.startsWith(FENCE)) return line
    const lines = [line.slice(FENCE.length)]
    while (!(lines.at(-1) as string).endsWith(FENCE)) {
      const more = await this.#line('... ')
      if (more === null) break
      lines.push(more)
    }
    return lines.join('\n').replace(/"""$/, '').trim()
  }

  close(): void {
    this.#readline.close()
  }

  async #line(prompt: string): Promise<string | null> {
    const arrived = this.#arrived.shift()
    if (arrived !== undefined) return arrived
    if (this.#closed) return null
    this.#readline.setPrompt(prompt)
    this.#readline.prompt()
    return new Promise(resolve => {
      this.#waiting = resolve
    })
  }

  #take(line: string): void {
    this.#leaving = false
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) this.#arrived.push(line)
    else waiting(line)
  }

  #close(): void {
    this.#closed = true
    this.interrupt?.()
    this.#waiting?.(null)
    this.#waiting = undefined
  }

  #onInterrupt(stdout: NodeJS.WritableStream): void {
    if (this.interrupt !== null) {
      this.interrupt()
      return
    }
    if (this.#leaving && this.#readline.line === '') {
      this.close()
      return
    }
    this.#leaving = true
    stdout.write('\n(Ctrl-C again, Ctrl-D or /exit to leave)\n')
    // readline has no method that clears the line; Ctrl-U does.
    this.#readline.write(null, { ctrl: true, name: 'u' })
    this.#readline.prompt()
  }
}
