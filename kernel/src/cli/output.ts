import type { Writable } from 'node:stream'
import { reservedStdout } from '@svc/contracts'
import type { CliView } from '@svc/plugin-sdk'
import { EXIT } from './exit-codes.ts'
import { renderResult } from './render.ts'
import { terminalOf } from './terminal.ts'

/**
 * Writes the result, events and progress of an operation. With `--json`, standard output contains only the result, as
 * one JSON document; events and progress are JSON lines on standard error. If the view has `stream`, the events are the output.
 */
export class Output {
  readonly #json: boolean
  readonly #stdout: Writable
  readonly #view: CliView | undefined
  /** Text that events have written so far. */
  #streamed = ''

  /** With `json`, anything that plugins print to standard output goes to standard error from now on. */
  constructor(json: boolean, view: CliView | undefined) {
    this.#json = json
    this.#stdout = json ? reservedStdout() : process.stdout
    this.#view = view
  }

  readonly onEvent = (event: unknown): void => {
    const { stream, events } = this.#view ?? {}
    if (events === false) return
    if (stream !== undefined) this.#stdout.write(`${this.#json ? JSON.stringify(event) : textOf(event, stream)}\n`)
    else if (this.#json) writeError({ event })
    else if (typeof event === 'string') {
      this.#streamed += event
      process.stdout.write(event)
    } else process.stdout.write(`${JSON.stringify(event)}\n`)
  }

  readonly onProgress = (done: number, total?: number, message?: string): void => {
    if (this.#json) writeError({ progress: { done, total, message } })
    else process.stderr.write(`${message ?? 'progress'} ${done}${total === undefined ? '' : `/${total}`}\n`)
  }

  /**
   * Prints the result and returns the exit code: not 0 for a result with `healthy: false` or `valid: false`, or if the field
   * `success` of the view is false.
   */
  finish(output: unknown): number {
    const { answer, stream, success } = this.#view ?? {}
    if (stream !== undefined) return EXIT.ok
    const result = answer === undefined ? output : (output as Readonly<Record<string, unknown>>)[answer]
    const text = this.#json ? JSON.stringify(result) : renderResult(result, this.#view, terminalOf(process.stdout))
    // A result that was already streamed is not printed again.
    const isPrinted = this.#view?.text !== undefined && this.#streamed !== '' && text === this.#streamed
    this.#stdout.write(isPrinted ? '\n' : `${text}\n`)
    const { healthy, valid } = (result ?? {}) as { healthy?: unknown; valid?: unknown }
    if (valid === false) return EXIT.configuration
    const isFailed = success !== undefined && (output as Readonly<Record<string, unknown>>)[success] === false
    return healthy === false || isFailed ? EXIT.failure : EXIT.ok
  }
}

function textOf(event: unknown, field: string): string {
  return String((event as Readonly<Record<string, unknown>> | null)?.[field] ?? JSON.stringify(event))
}

function writeError(line: object): void {
  process.stderr.write(`${JSON.stringify(line)}\n`)
}
