import type { ConsoleApi } from '@svc/contracts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { draw, follow } from './draw.ts'
import { headersOf, isText, type Param, plainType, type Route, requestOf } from './route-request.ts'

/** Draws a form for the routes of the app in the page's path. Returns the disposer. */
export function mount(root: ShadowRoot | HTMLElement, api: ConsoleApi): () => void {
  return draw(root, <TryPage api={api} />)
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly encoding: 'text' | 'base64'
  readonly cut: boolean
  readonly ms: number
  readonly request_id: string
}

interface Problem {
  readonly message: string
  readonly hint?: string
}

function TryPage({ api }: { readonly api: ConsoleApi }) {
  const { app = '', method, path } = api.route
  const [routes, setRoutes] = useState<readonly Route[] | null>(null)
  const [chosen, setChosen] = useState(`${method ?? ''} ${path ?? ''}`)
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [body, setBody] = useState('')
  const [headers, setHeaders] = useState('')
  const [answer, setAnswer] = useState<Answer | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const running = useRef<AbortController | null>(null)
  const [busy, setBusy] = useState(false)

  useEffect(() => {
    return api.watch(
      'app.describe',
      { app },
      output => setRoutes((output as { readonly routes: Route[] }).routes),
      error => setProblem(error)
    )
  }, [app])
  useEffect(() => () => running.current?.abort(), [])

  const route = routes?.find(each => each.route === chosen) ?? routes?.[0]
  const send = async (): Promise<void> => {
    if (route === undefined) return
    const cancel = new AbortController()
    running.current = cancel
    setProblem(null)
    setAnswer(null)
    setBusy(true)
    try {
      const input = { app, ...requestOf(route, texts, body), headers: headersOf(headers) }
      setAnswer((await api.call('app.request', input, { signal: cancel.signal })) as Answer)
    } catch (error) {
      if (!cancel.signal.aborted) setProblem(error as Problem)
    } finally {
      setBusy(false)
    }
  }
  return (
    <div class="page">
      {routes?.length === 0 ? (
        <p class="empty">
          No routes. Functions with @query, @mutation or @server, and http declarations of the program appear here.
        </p>
      ) : route === undefined ? (
        <p role="status">{problem === null ? 'Loading…' : ''}</p>
      ) : (
        <form
          class="request"
          noValidate
          onSubmit={event => {
            event.preventDefault()
            void send()
          }}
        >
          <div class="field">
            <label class="name" for="route">
              Route
            </label>
            <select
              id="route"
              value={route.route}
              onChange={event => {
                setChosen(event.currentTarget.value)
                setAnswer(null)
              }}
            >
              {routes?.map(each => (
                <option key={each.route} value={each.route}>
                  {each.route}
                </option>
              ))}
            </select>
          </div>
          {route.params.map(param => (
            <ParamField
              key={`${param.in} ${param.name}`}
              param={param}
              text={texts[param.name] ?? ''}
              onText={text => setTexts({ ...texts, [param.name]: text })}
            />
          ))}
          {route.body === 'any' ? (
            <div class="field">
              <label class="name" for="body">
                Body <span class="type">any text</span>
              </label>
              <textarea
                id="body"
                class="code"
                rows={5}
                value={body}
                onInput={event => setBody(event.currentTarget.value)}
              />
            </div>
          ) : null}
          <details open={route.auth === 'bearer'}>
            <summary>Headers</summary>
            <div class="field">
              <label class="type" for="headers">
                {route.auth === 'bearer'
                  ? 'One a line. This server needs authorization: Bearer TOKEN, with the token of plugins.http.'
                  : 'One a line, such as accept-language: en'}
              </label>
              <textarea
                id="headers"
                class="code"
                rows={3}
                value={headers}
                onInput={event => setHeaders(event.currentTarget.value)}
              />
            </div>
          </details>
          <div class="bar">
            <button type="submit" class="primary" disabled={busy || !api.may('app.request')}>
              Send
            </button>
            {busy ? (
              <button type="button" onClick={() => running.current?.abort()}>
                Stop
              </button>
            ) : null}
            <span class="dim" role="status">
              {api.may('app.request') ? (busy ? 'Waiting for the response…' : '') : 'Your role may not send requests.'}
            </span>
          </div>
        </form>
      )}
      {problem === null ? null : (
        <div class="problem" role="alert">
          <p>{problem.message}</p>
          {problem.hint === undefined ? null : <p class="dim">{problem.hint}</p>}
        </div>
      )}
      {answer === null ? null : <AnswerCard answer={answer} api={api} />}
    </div>
  )
}

interface ParamFieldProps {
  readonly param: Param
  readonly text: string
  readonly onText: (text: string) => void
}

function ParamField({ param, text, onText }: ParamFieldProps) {
  const id = `param-${param.in}-${param.name}`
  const plain = plainType(param.type)
  const isJson = !isText(param) && !['int', 'float', 'bool', 'Id'].includes(plain) && !plain.startsWith('Id[')
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onText(event.currentTarget.value)
  return (
    <div class="field">
      <label class="name" for={id}>
        {param.name}{' '}
        <span class="type">
          {`${param.type}, in the ${param.in}${param.required ? '' : ', optional'}${isJson ? ', as JSON' : ''}`}
        </span>
      </label>
      {plain === 'bool' ? (
        <select id={id} value={text} onChange={onInput}>
          <option value="">no value</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : isJson ? (
        <textarea id={id} class="code" rows={4} spellcheck={false} value={text} onInput={onInput} />
      ) : (
        <input id={id} type="text" autocomplete="off" value={text} onInput={onInput} />
      )}
    </div>
  )
}

function AnswerCard({ answer, api }: { readonly answer: Answer; readonly api: ConsoleApi }) {
  const { status, headers, body, encoding, cut, ms, request_id: id } = answer
  const page = `/ui/p/observability/requests/${encodeURIComponent(id)}`
  const size = `${body.length.toLocaleString('en')} characters`
  return (
    <section class="answer" aria-label="Response">
      <div class="bar">
        <span class={`badge ${status >= 400 ? 'bad' : ''}`}>{status}</span>
        <span class="dim">{`${ms} ms, ${size}${encoding === 'base64' ? ' of base64' : ''}`}</span>
        <span class="grow" />
        {id === '' ? null : (
          <a href={page} onClick={event => follow(event, () => api.navigate(page))}>
            {`Spans and SQL of request ${id}`}
          </a>
        )}
      </div>
      {cut ? <p class="notice">The body is incomplete: it is too large, or did not end within 10 seconds.</p> : null}
      <pre tabIndex={0}>{body === '' ? 'The body is empty.' : pretty(body)}</pre>
      <details>
        <summary>Response headers</summary>
        <pre tabIndex={0}>
          {Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n')}
        </pre>
      </details>
    </section>
  )
}

function pretty(text: string): string {
  try {
    // Numbers beyond 2^53 would lose digits.
    return /\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
