import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { defined, isSvcError, SvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'

/** Synchronous requests from a thread to the main thread. */
export interface Bridge {
  /**
   * Blocks the thread until the main thread has replied. The payload is copied. Throws the error in the reply, with
   * its code, message, hint and data, or `RUN_TIME_LIMIT` after `milliseconds` without a reply.
   */
  ask(kind: string, payload: unknown, milliseconds?: number): unknown
}

/** Context of a request in the main thread. */
export interface BridgeCall {
  /** Aborted when the thread no longer waits: it ended, or the request timed out. */
  readonly signal: AbortSignal
}

export type BridgeAnswers = Readonly<Record<string, (payload: never, call: BridgeCall) => unknown>>

/** A thread's end of its bridge. The port must be in the transfer list. */
export interface BridgeEnd {
  readonly port: MessagePort
  /** Number of replies, as one int; the thread waits until it changes. */
  readonly answered: SharedArrayBuffer
}

type Question = { readonly id: number; readonly kind: string; readonly payload: unknown } | { readonly over: number }

type BridgeReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly error: SentError }

interface SentError {
  readonly code: string
  readonly message: string
  readonly status: number
  readonly hint?: string
  readonly data?: unknown
}

/** Returns the bridge for use in the thread. */
export function bridgeTo({ port, answered }: BridgeEnd): Bridge {
  const count = new Int32Array(answered)
  let last = 0
  return {
    ask(kind, payload, milliseconds) {
      const id = ++last
      const until = performance.now() + (milliseconds ?? Number.POSITIVE_INFINITY)
      port.postMessage({ id, kind, payload } satisfies Question)
      for (;;) {
        const seen = Atomics.load(count, 0)
        const received = receiveMessageOnPort(port) as { readonly message: BridgeReply } | undefined
        if (received === undefined) {
          if (Atomics.wait(count, 0, seen, until - performance.now()) !== 'timed-out') continue
          port.postMessage({ over: id } satisfies Question)
          throw runErrors.create('RUN_TIME_LIMIT', `${kind}: no reply within ${Math.round(milliseconds ?? 0)} ms`)
        }
        const { message } = received
        // A late reply to a cancelled request is ignored.
        if (message.id !== id) continue
        if (message.ok) return message.value
        const { code, message: text, ...details } = message.error
        throw new SvcError(code, text, details)
      }
    }
  }
}

/**
 * Handles the requests of a thread in the main thread, one at a time, until `signal` is aborted or the thread ends.
 * An error without a code reaches the thread as `RUN_HOST_FAILED`; `report` receives the original.
 */
export function answerBridge(
  { port, answered }: BridgeEnd,
  signal: AbortSignal,
  answers: BridgeAnswers,
  report: (error: unknown, kind: string) => void
): void {
  const count = new Int32Array(answered)
  let running: { readonly id: number; readonly abort: AbortController } | null = null
  const send = (answer: BridgeReply): void => {
    port.postMessage(answer)
    Atomics.add(count, 0, 1)
    Atomics.notify(count, 0)
  }
  const answer = async (id: number, kind: string, payload: unknown): Promise<void> => {
    const abort = new AbortController()
    running = { id, abort }
    let sent: BridgeReply
    try {
      const handler = Object.hasOwn(answers, kind) ? answers[kind] : undefined
      if (handler === undefined) throw runErrors.create('RUN_UNSUPPORTED', `${kind} is not available here`)
      sent = { id, ok: true, value: await handler(payload as never, { signal: abort.signal }) }
    } catch (error) {
      if (!isSvcError(error)) report(error, kind)
      sent = { id, ok: false, error: sentError(error, kind) }
    }
    if (running?.id === id) running = null
    try {
      send(sent)
    } catch (error) {
      // The result cannot be cloned. The thread waits, so it gets an error.
      report(error, kind)
      send({ id, ok: false, error: sentError(error, kind) })
    }
  }
  const end = (): void => {
    running?.abort.abort()
    port.close()
  }
  port.on('message', (question: Question) => {
    if ('id' in question) void answer(question.id, question.kind, question.payload)
    else if (running?.id === question.over) running.abort.abort()
  })
  port.on('close', () => {
    running?.abort.abort()
    signal.removeEventListener('abort', end)
  })
  // An idle thread must not keep the process alive.
  port.unref()
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
}

function sentError(error: unknown, kind: string): SentError {
  if (!isSvcError(error)) {
    const { code, message, status } = runErrors.create('RUN_HOST_FAILED', `${kind} failed in the host of the program`)
    return { code, message, status }
  }
  const { code, message, status, hint, data } = error
  return {
    code,
    message,
    status,
    ...defined({ hint, data })
  }
}
