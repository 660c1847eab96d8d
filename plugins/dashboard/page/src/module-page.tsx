import type { ConsoleApi, ConsoleModule, ModuleView } from '@svc/contracts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallError, call } from './api.ts'
import { valueAt } from './bindings.ts'
import { Confirm, callText } from './confirm.tsx'
import { serveFrame } from './module-frame.ts'
import { ErrorNotice, Loading } from './parts.tsx'
import type { PageInfo } from './protocol.ts'
import { navigate, query } from './router.ts'
import { mayCall, operationsById, theme } from './state.ts'
import { stream } from './stream.ts'

interface ModulePageProps {
  readonly page: PageInfo
  readonly view: ModuleView
  readonly params: Readonly<Record<string, string>>
}

/** Number of module versions after which the tab is loaded again: the browser keeps the code of each. */
const MAX_VERSIONS = 50
const versions = new Set<string>()
/** Values that modules of this tab keep when their code is replaced, by page. */
const memories = new Map<string, Map<string, unknown>>()

/**
 * Draws a page by code of its plugin, in a shadow root, or in a sandboxed frame if the plugin is isolated. If the code
 * changes, the old one is disposed and the new one mounted in its place.
 */
export function ModulePage({ page, view, params }: ModulePageProps) {
  const host = useRef<HTMLDivElement>(null)
  const frame = useRef<HTMLIFrameElement>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  const [loading, setLoading] = useState(true)
  const [asked, setAsked] = useState<Asked | null>(null)
  const ask: Ask = (operation, input) =>
    new Promise(resolve =>
      setAsked(before => {
        before?.resolve(false)
        return { operation, input, resolve }
      })
    )
  const answer = (isConfirmed: boolean): void => {
    asked?.resolve(isConfirmed)
    setAsked(null)
  }
  const { module } = page
  const route = { ...Object.fromEntries(query.value), ...params }
  const routeText = JSON.stringify(route)

  useEffect(() => {
    if (module?.kind !== 'script') return
    const element = host.current as HTMLDivElement
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    const cancel = new AbortController()
    let dispose: ReturnType<ConsoleModule['mount']>
    setFailure(null)
    setLoading(true)
    versions.add(module.url)
    if (versions.size > MAX_VERSIONS) location.reload()
    import(module.url).then(
      ({ mount }: ConsoleModule<ShadowRoot>) => {
        if (cancel.signal.aborted) return
        setLoading(false)
        try {
          dispose = mount(root, apiOf(page, view, JSON.parse(routeText), cancel.signal, ask))
        } catch (error) {
          setFailure(error as Error)
        }
      },
      error => {
        if (!cancel.signal.aborted) setFailure(error as Error)
      }
    )
    return () => {
      cancel.abort()
      try {
        dispose?.()
      } catch (error) {
        setFailure(error as Error)
      }
      root.replaceChildren()
      root.adoptedStyleSheets = []
    }
  }, [module?.url, routeText])

  useEffect(() => {
    if (module?.kind !== 'frame') return
    const cancel = new AbortController()
    setFailure(null)
    setLoading(false)
    const api = apiOf(page, view, JSON.parse(routeText), cancel.signal, ask)
    serveFrame(frame.current as HTMLIFrameElement, api, view.uses, setFailure)
    return () => cancel.abort()
  }, [module?.url, routeText])

  if (module === undefined)
    return (
      <ErrorNotice
        error={
          new CallError(
            {
              code: 'DSH_PAGE_NOT_BUILT',
              message: `the page module ${view.entry} of plugin ${page.plugin} is not built`,
              hint: `name its source in "svc": { "pages": … } of the plugin's package.json and run svc plugins build`
            },
            0
          )
        }
      />
    )
  return (
    <div class="fill">
      {failure === null ? null : <ErrorNotice error={failure} />}
      {loading && failure === null ? <Loading /> : null}
      {asked === null ? null : (
        <Confirm
          title={`Run ${asked.operation}?`}
          text={`The page asks for this: ${callText(asked.operation, asked.input)}`}
          word={asked.operation}
          label="Run"
          onConfirm={() => answer(true)}
          onClose={() => answer(false)}
        />
      )}
      {module.kind === 'script' ? (
        <div ref={host} class="fill" />
      ) : (
        // The frame has a separate origin: it can neither read this page nor call the server. Its code starts once,
        // so another route needs another frame.
        <iframe
          key={`${module.url} ${routeText}`}
          ref={frame}
          class="module"
          title={page.title}
          sandbox="allow-scripts"
          src={module.url}
        />
      )}
    </div>
  )
}

/** Asks the person to confirm a destructive operation; the module's code cannot answer. */
type Ask = (operation: string, input: unknown) => Promise<boolean>

interface Asked {
  readonly operation: string
  readonly input: unknown
  readonly resolve: (isConfirmed: boolean) => void
}

function apiOf(
  { path, plugin }: PageInfo,
  { uses }: ModuleView,
  route: Readonly<Record<string, string>>,
  signal: AbortSignal,
  ask: Ask
): ConsoleApi {
  const memory = memories.get(path) ?? new Map<string, unknown>()
  memories.set(path, memory)
  const check = (operation: string): void => {
    if (uses.includes(operation)) return
    throw new CallError(
      {
        code: 'DSH_OPERATION_UNDECLARED',
        message: `the page of ${plugin} calls ${operation}, which is not in its uses`,
        hint: `add "${operation}" to uses of the page`
      },
      0
    )
  }
  return {
    async call(operation, input, options = {}) {
      check(operation)
      const both = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal])
      const confirmed = operationsById.value.get(operation)?.effect === 'destructive'
      if (confirmed && !(await ask(operation, input)))
        throw new CallError({ code: 'DSH_NOT_CONFIRMED', message: `${operation} was not confirmed` }, 0)
      return call(operation, input, { signal: both, onEvent: options.onEvent, confirmed })
    },
    watch(operation, input, listener, onError) {
      check(operation)
      const end = watchAll(operation, input, listener, onError)
      signal.addEventListener('abort', end, { once: true })
      return end
    },
    navigate(to) {
      if (to === '/' || to.startsWith('/ui/')) navigate(to)
    },
    memory,
    route,
    get theme() {
      return theme.value
    },
    may: operation => uses.includes(operation) && mayCall(operation),
    signal
  }
}

/** Watches an operation; one without `watch` is called once. A delta operation's listener receives all rows. */
function watchAll(
  operation: string,
  input: unknown,
  listener: (output: unknown) => void,
  onError: ((error: Error) => void) | undefined
): () => void {
  const fail = (error: Error): void => onError?.(error)
  if (operationsById.value.get(operation)?.watch === undefined) {
    const cancel = new AbortController()
    call(operation, input, { signal: cancel.signal }).then(listener, error => {
      if (!cancel.signal.aborted) fail(error as Error)
    })
    return () => cancel.abort()
  }
  const rows = new Map<string, unknown>()
  return stream.subscribe(operation, input, {
    value: listener,
    delta({ reset, upsert, remove }) {
      if (reset) rows.clear()
      for (const key of remove) rows.delete(key)
      for (const row of upsert) rows.set(String(valueAt(row, 'id') ?? valueAt(row, 'key')), row)
      listener([...rows.values()])
    },
    error: info => fail(new CallError(info, 0))
  })
}
