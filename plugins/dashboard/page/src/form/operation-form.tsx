import type { JsonSchema } from '@svc/plugin-sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type CallError, type CallResult, callWithId } from '../api.ts'
import { Confirm } from '../confirm.tsx'
import { CopyButton, ErrorNotice, Loading } from '../parts.tsx'
import { mayCall, operationsById, session } from '../state.ts'
import { useOperation } from '../views/use-operation.ts'
import { type FormValue, problemsOf, SchemaFields, submitOnCtrlEnter } from './schema-form.tsx'

interface OperationFormProps {
  readonly operation: string
  readonly initial?: FormValue
  readonly submit?: string | undefined
  /** Fields that are sent but not shown. */
  readonly hidden?: readonly string[]
  readonly onDone?: ((output: unknown) => void) | undefined
  /** Called with the input whenever it changes. */
  readonly onInput?: (input: FormValue) => void
}

const MAX_EVENTS = 500
/** A form with more fields than this shows the first ones, and the others on request. */
const MAX_FIELDS = 8
const FIRST_FIELDS = 5

/** Form generated from an operation's input schema. Shows events while it runs, then the output. */
export function OperationForm(props: OperationFormProps) {
  const { operation, initial = {}, submit = 'Run', hidden = [], onDone, onInput } = props
  const info = useOperation(operation)
  const [value, setValue] = useState<FormValue>(initial)
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [result, setResult] = useState<CallResult | null>(null)
  const [failure, setFailure] = useState<CallError | null>(null)
  const [events, setEvents] = useState<readonly unknown[]>([])
  const [progress, setProgress] = useState('')
  const [asks, setAsks] = useState(false)
  const running = useRef<AbortController | null>(null)
  const [busy, setBusy] = useState(false)
  useEffect(() => () => running.current?.abort(), [])
  if (info === undefined) return <Loading />
  const summary = operationsById.value.get(operation)
  const isDestructive = info.effect === 'destructive'

  const change = (next: FormValue): void => {
    setValue(next)
    onInput?.(next)
  }
  const check = (): void => {
    const found = problemsOf(info.input, value)
    setProblems(found)
    if (Object.keys(found).length > 0) return
    if (isDestructive) setAsks(true)
    else void run()
  }
  const run = async (): Promise<void> => {
    setAsks(false)
    setFailure(null)
    setResult(null)
    setEvents([])
    setProgress('')
    const cancel = new AbortController()
    running.current = cancel
    setBusy(true)
    try {
      const found = await callWithId(operation, value, {
        signal: cancel.signal,
        confirmed: isDestructive,
        ...(summary?.events === true
          ? { onEvent: (event: unknown) => setEvents(before => [...before.slice(-MAX_EVENTS), event]) }
          : {}),
        ...(summary?.events === true
          ? { onProgress: p => setProgress(p.message ?? `${p.done}${p.total === undefined ? '' : ` of ${p.total}`}`) }
          : {})
      })
      setResult(found)
      onDone?.(found.output)
    } catch (error) {
      if (!cancel.signal.aborted) setFailure(error as CallError)
    } finally {
      running.current = null
      setBusy(false)
    }
  }
  const fields = Object.keys((info.input.properties as object | undefined) ?? {}).filter(each => !hidden.includes(each))
  const { first, more } = sortedFields(info.input, fields)
  const others = Object.entries(problems).filter(([field]) => !fields.includes(field.split('.')[0] as string))
  return (
    <div class="stack">
      <form
        class="form"
        noValidate
        onKeyDown={submitOnCtrlEnter}
        onSubmit={event => {
          event.preventDefault()
          check()
        }}
      >
        {fields.length === 0 ? <p class="dim">This operation takes no input.</p> : null}
        <SchemaFields schema={info.input} value={value} onChange={change} problems={problems} only={first} />
        {more.length === 0 ? null : (
          <details open={more.some(field => problems[field] !== undefined)}>
            <summary>{`${more.length} more fields`}</summary>
            <div class="form">
              <SchemaFields schema={info.input} value={value} onChange={change} problems={problems} only={more} />
            </div>
          </details>
        )}
        {others.map(([field, text]) => (
          <div class="problem" key={field} role="alert">{`${field}: ${text}`}</div>
        ))}
        <div class="row">
          <button type="submit" class={isDestructive ? 'danger' : 'primary'} disabled={busy || !mayCall(operation)}>
            {submit}
          </button>
          {busy ? (
            <button type="button" onClick={() => running.current?.abort()}>
              Stop
            </button>
          ) : null}
          {mayCall(operation) ? null : (
            <span class="small dim">
              {session.value?.readOnly === true
                ? 'The console is read-only (plugins.dashboard.read_only).'
                : `The role ${session.value?.role} may not call ${operation}.`}
            </span>
          )}
          <span class="small dim" role="status">
            {busy ? progress || 'Running…' : ''}
          </span>
        </div>
      </form>
      {events.length === 0 ? null : (
        <div class="log" role="log" aria-label="events" tabIndex={0}>
          {events.map((event, index) => (
            <div key={index}>{typeof event === 'string' ? event : JSON.stringify(event)}</div>
          ))}
        </div>
      )}
      {failure === null ? null : <ErrorNotice error={failure} />}
      {result === null || onDone !== undefined ? null : (
        <section class="card stack" aria-label="output">
          <div class="row">
            <h2>Output</h2>
            <span class="grow" />
            <a class="small" href={`/ui/p/observability/requests/${encodeURIComponent(result.requestId)}`}>
              {`request ${result.requestId}`}
            </a>
            <CopyButton label="Copy" text={JSON.stringify(result.output, null, 2)} />
          </div>
          <pre>{JSON.stringify(result.output, null, 2)}</pre>
        </section>
      )}
      {asks ? (
        <Confirm
          title={`Run ${operation}?`}
          text={info.summary}
          word={operation}
          label={submit}
          onConfirm={() => void run()}
          onClose={() => setAsks(false)}
        />
      ) : null}
    </div>
  )
}

/** Returns required fields and the first optional ones, and separately the others of a long form. */
function sortedFields(schema: JsonSchema, fields: readonly string[]) {
  if (fields.length <= MAX_FIELDS) return { first: fields, more: [] }
  const required = (schema.required ?? []) as readonly string[]
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>
  const optional = fields.filter(each => !required.includes(each))
  const simple = optional.filter(each => properties[each]?.type !== 'object')
  const shown = new Set([...required, ...simple.slice(0, Math.max(FIRST_FIELDS - required.length, 0))])
  return { first: fields.filter(each => shown.has(each)), more: fields.filter(each => !shown.has(each)) }
}
