import type { ConsoleApi, ConsoleModule } from '@svc/contracts'

declare global {
  interface Window {
    /** Disposes the page and mounts it again, as the console does for new code. Its memory stays. */
    remount(version: string): Promise<void>
    violations: string[]
  }
}

const memory = new Map<string, unknown>()
let dispose: (() => void) | undefined
let cancel = new AbortController()

window.violations = []
document.addEventListener('securitypolicyviolation', event => {
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI || event.sample}`)
})

window.remount = async version => {
  const host = document.querySelector('#host') as HTMLElement
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  cancel.abort()
  dispose?.()
  root.replaceChildren()
  cancel = new AbortController()
  const { mount } = (await import(`/playground.js?${version}`)) as ConsoleModule<ShadowRoot>
  dispose = mount(root, apiOf(cancel.signal)) as () => void
}
void window.remount('1')

/** Calls operations through the test's server: one JSON line for each event, and the last for the output or error. */
function apiOf(signal: AbortSignal): ConsoleApi {
  const call: ConsoleApi['call'] = async (operation, input, options = {}) => {
    const response = await fetch(`/call/${operation}`, {
      method: 'POST',
      body: JSON.stringify(input),
      signal: options.signal === undefined ? signal : AbortSignal.any([signal, options.signal])
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let held = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw new Error('the connection was closed')
      const lines = (held + decoder.decode(value, { stream: true })).split('\n')
      held = lines.pop() ?? ''
      for (const line of lines) {
        const { event, output, error } = JSON.parse(line) as Record<string, any>
        if (event !== undefined) options.onEvent?.(event)
        else if (error !== undefined) throw Object.assign(new Error(error.message), error)
        else return output
      }
    }
  }
  return {
    call,
    watch(operation, input, listener, onError) {
      call(operation, input).then(listener, error => onError?.(error))
      return () => undefined
    },
    navigate: () => undefined,
    memory,
    route: {},
    theme: 'light',
    may: () => true,
    signal
  }
}
