import type { ConsoleApi, ConsoleModule } from '@svc/contracts'

// Runs inside the sandboxed frame of an isolated plugin, after its module. Counterpart of module-frame.ts.

interface ErrorInfo {
  readonly code?: string
  readonly message: string
  readonly hint?: string
  readonly requestId?: string
}

type FromConsole =
  | { readonly t: 'result'; readonly id: number; readonly output: unknown }
  | { readonly t: 'output'; readonly id: number; readonly output: unknown }
  | { readonly t: 'event'; readonly id: number; readonly event: unknown }
  | { readonly t: 'error'; readonly id: number; readonly error: ErrorInfo }

interface Pending {
  resolve?(output: unknown): void
  output?(output: unknown): void
  event?(event: unknown): void
  fail(error: Error): void
}

/** Module of the plugin, defined by the script before this one. */
declare const svcModule: ConsoleModule<HTMLElement>

addEventListener(
  'message',
  ({ data, ports: [port] }: MessageEvent<{ t: 'start'; route: Record<string, string>; theme: 'light' | 'dark' }>) => {
    if (port === undefined || data.t !== 'start') return
    document.documentElement.style.colorScheme = data.theme
    svcModule.mount(document.body, apiOver(port, data.route, data.theme))
  },
  { once: true }
)

function apiOver(port: MessagePort, route: Record<string, string>, theme: 'light' | 'dark'): ConsoleApi {
  const pending = new Map<number, Pending>()
  let nextId = 1
  port.onmessage = ({ data }: MessageEvent<FromConsole>) => {
    const entry = pending.get(data.id)
    if (data.t === 'event') entry?.event?.(data.event)
    else if (data.t === 'output') entry?.output?.(data.output)
    else {
      pending.delete(data.id)
      if (data.t === 'result') entry?.resolve?.(data.output)
      else entry?.fail(Object.assign(new Error(data.error.message), data.error))
    }
  }
  return {
    call: (operation, input, { signal, onEvent } = {}) =>
      new Promise((resolve, reject) => {
        const id = nextId++
        pending.set(id, { resolve, fail: reject, ...(onEvent === undefined ? {} : { event: onEvent }) })
        signal?.addEventListener('abort', () => {
          pending.delete(id)
          port.postMessage({ t: 'end', id })
          reject(signal.reason)
        })
        port.postMessage({ t: 'call', id, operation, input })
      }),
    watch(operation, input, listener, onError) {
      const id = nextId++
      pending.set(id, { output: listener, fail: error => onError?.(error) })
      port.postMessage({ t: 'watch', id, operation, input })
      return () => {
        pending.delete(id)
        port.postMessage({ t: 'end', id })
      }
    },
    navigate: to => port.postMessage({ t: 'navigate', to }),
    // The console checks every call; the frame does not know the session's role.
    may: () => true,
    memory: new Map(),
    route,
    theme,
    signal: new AbortController().signal
  }
}
