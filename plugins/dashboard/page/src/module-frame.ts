import type { ConsoleApi } from '@svc/contracts'
import { CallError } from './api.ts'

type FromFrame =
  | { readonly t: 'call'; readonly id: number; readonly operation: string; readonly input: unknown }
  | { readonly t: 'watch'; readonly id: number; readonly operation: string; readonly input: unknown }
  | { readonly t: 'end'; readonly id: number }
  | { readonly t: 'navigate'; readonly to: string }
  | { readonly t: 'failed'; readonly message: string }

/**
 * Connects a sandboxed frame with the console by a message channel. The frame reaches only what the API checks. It
 * receives `{ t: 'start', route, theme, may }` with the port once it has loaded. `onFailure`: called if its code throws.
 */
export function serveFrame(
  frame: HTMLIFrameElement,
  api: ConsoleApi,
  uses: readonly string[],
  onFailure: (error: Error) => void
): void {
  frame.addEventListener(
    'load',
    () => {
      const { port1, port2 } = new MessageChannel()
      const running = new Map<number, () => void>()
      const fail = (id: number, error: unknown): void => {
        const { code, hint, requestId } = error instanceof CallError ? error : ({} as Partial<CallError>)
        port1.postMessage({ t: 'error', id, error: { code, message: (error as Error).message, hint, requestId } })
      }
      port1.onmessage = ({ data }: MessageEvent<FromFrame>) => {
        if (data.t === 'call') {
          const cancel = new AbortController()
          running.set(data.id, () => cancel.abort())
          const onEvent = (event: unknown): void => port1.postMessage({ t: 'event', id: data.id, event })
          api
            .call(data.operation, data.input, { signal: cancel.signal, onEvent })
            .then(output => port1.postMessage({ t: 'result', id: data.id, output }))
            .catch(error => fail(data.id, error))
            .finally(() => running.delete(data.id))
        } else if (data.t === 'watch') {
          try {
            const end = api.watch(
              data.operation,
              data.input,
              output => port1.postMessage({ t: 'output', id: data.id, output }),
              error => fail(data.id, error)
            )
            running.set(data.id, end)
          } catch (error) {
            fail(data.id, error)
          }
        } else if (data.t === 'end') {
          running.get(data.id)?.()
          running.delete(data.id)
        } else if (data.t === 'navigate') api.navigate(String(data.to))
        else if (data.t === 'failed') onFailure(new Error(String(data.message)))
      }
      api.signal.addEventListener('abort', () => {
        for (const end of running.values()) end()
        port1.postMessage({ t: 'close' })
        port1.close()
      })
      // A sandboxed frame has the origin "null", which cannot be named as the target.
      const may = uses.filter(operation => api.may(operation))
      frame.contentWindow?.postMessage({ t: 'start', route: api.route, theme: api.theme, may }, '*', [port2])
    },
    { once: true, signal: api.signal }
  )
}
