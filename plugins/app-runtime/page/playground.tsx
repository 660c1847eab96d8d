import type { ConsoleApi } from '@svc/contracts'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Cell } from './cell.tsx'
import { draw } from './draw.ts'
import { EXAMPLE } from './example.ts'
import { offsetOf, type Span } from './source-offset.ts'

/** Draws a text area that checks and runs a program. Returns the disposer. */
export function mount(root: ShadowRoot | HTMLElement, api: ConsoleApi): () => void {
  return draw(root, <Playground api={api} />)
}

/** Milliseconds without a key press after which the program is checked. */
const CHECK_AFTER_MS = 300
/** Name under which the text survives a replacement of this code. */
const MEMORY = 'playground source'

interface Finding {
  readonly error_code: string
  readonly severity: 'Error' | 'Warning'
  readonly message: string
  readonly span: Span
  readonly expected_type: string | null
  readonly found_type: string | null
  readonly correction_hints: readonly string[]
}

interface RunError {
  readonly code: string | null
  readonly message: string
  readonly line: number | null
  readonly column: number | null
  readonly hint: string | null
  readonly calls: readonly string[]
}

interface TableRows {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly total: number
}

interface Run {
  readonly ok: boolean
  readonly ran: boolean
  readonly output: readonly { readonly kind: string; readonly text: string }[]
  readonly cut: boolean
  readonly result: string | null
  readonly exit: number | null
  readonly error: RunError | null
  readonly tables: readonly TableRows[] | null
  readonly ms: number
}

function Playground({ api }: { readonly api: ConsoleApi }) {
  const [source, setSource] = useState((api.memory.get(MEMORY) as string | undefined) ?? EXAMPLE)
  const [findings, setFindings] = useState<readonly Finding[] | null>(null)
  const [run, setRun] = useState<Run | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [isRunning, setRunning] = useState(false)
  const checking = useRef<AbortController | null>(null)
  const running = useRef<AbortController | null>(null)
  const editor = useRef<HTMLTextAreaElement>(null)

  const check = async (text: string): Promise<void> => {
    checking.current?.abort()
    const cancel = new AbortController()
    checking.current = cancel
    try {
      const { diagnostics } = (await api.call(
        'compiler.check',
        { source: text, script: true },
        { signal: cancel.signal }
      )) as { readonly diagnostics: readonly Finding[] }
      if (!cancel.signal.aborted) setFindings(diagnostics)
    } catch (error) {
      if (!cancel.signal.aborted) setProblem((error as Error).message)
    }
  }
  useEffect(() => {
    api.memory.set(MEMORY, source)
    setFindings(null)
    const timer = setTimeout(() => void check(source), CHECK_AFTER_MS)
    return () => clearTimeout(timer)
  }, [source])
  useEffect(
    () => () => {
      checking.current?.abort()
      running.current?.abort()
    },
    []
  )

  const start = async (): Promise<void> => {
    if (isRunning) return
    const cancel = new AbortController()
    running.current = cancel
    setProblem(null)
    setRun(null)
    setRunning(true)
    try {
      setRun((await api.call('app.playground', { source }, { signal: cancel.signal })) as Run)
    } catch (error) {
      setProblem(cancel.signal.aborted ? 'Stopped.' : (error as Error).message)
    } finally {
      setRunning(false)
    }
  }
  const select = (span: Span): void => {
    const { current } = editor
    if (current === null) return
    current.focus()
    current.setSelectionRange(
      offsetOf(source, span.start_line, span.start_col),
      offsetOf(source, span.end_line, span.end_col)
    )
  }
  const mayRun = api.may('app.playground')
  return (
    <div class="page">
      <form
        class="field"
        onSubmit={event => {
          event.preventDefault()
          void start()
        }}
      >
        <label class="name" for="source">
          Program
        </label>
        <textarea
          id="source"
          ref={editor}
          class="code"
          rows={18}
          spellcheck={false}
          autocomplete="off"
          aria-describedby="about"
          value={source}
          onInput={event => setSource(event.currentTarget.value)}
          onKeyDown={event => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
            event.preventDefault()
            if (mayRun) void start()
          }}
        />
        <p id="about" class="dim">
          Runs top-level statements or the function main, for at most 5 seconds. The tables are in a temporary database,
          and the program has no files, network, processes or secrets. Ctrl Enter runs it.
        </p>
        <div class="bar">
          <button type="submit" class="primary" disabled={isRunning || !mayRun}>
            Run
          </button>
          <button type="button" onClick={() => void check(source)}>
            Check
          </button>
          {isRunning ? (
            <button type="button" onClick={() => running.current?.abort()}>
              Stop
            </button>
          ) : null}
          <span class="dim" role="status">
            {mayRun ? stateOf(isRunning, findings) : 'Your role may not run programs.'}
          </span>
        </div>
      </form>
      {findings === null || findings.length === 0 ? null : <Findings findings={findings} onSelect={select} />}
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {run === null ? null : <RunView run={run} onSelect={select} />}
    </div>
  )
}

function stateOf(isRunning: boolean, findings: readonly Finding[] | null): string {
  if (isRunning) return 'Running…'
  if (findings === null) return 'Checking…'
  const errors = findings.filter(({ severity }) => severity === 'Error').length
  return `${counted(errors, 'error')}, ${counted(findings.length - errors, 'warning')}`
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

interface FindingsProps {
  readonly findings: readonly Finding[]
  readonly onSelect: (span: Span) => void
}

function Findings({ findings, onSelect }: FindingsProps) {
  return (
    <section aria-label="Diagnostics">
      <ul class="findings">
        {findings.map((finding, index) => (
          <li key={index}>
            <button type="button" class="plain" onClick={() => onSelect(finding.span)}>
              {`${finding.span.start_line}:${finding.span.start_col}`}
            </button>{' '}
            <span class={`badge ${finding.severity === 'Error' ? 'bad' : 'warn'}`}>{finding.severity}</span>{' '}
            {finding.message} <code>{finding.error_code}</code>
            {detailsOf(finding).map(text => (
              <p key={text} class="dim">
                {text}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  )
}

function detailsOf({ expected_type: expected, found_type: found, correction_hints: hints }: Finding): string[] {
  const types = [
    ...(expected === null ? [] : [`expected: ${expected}`]),
    ...(found === null ? [] : [`found: ${found}`])
  ].join(', ')
  return types === '' ? [...hints] : [types, ...hints]
}

function RunView({ run, onSelect }: { readonly run: Run; readonly onSelect: (span: Span) => void }) {
  const { ok, ran, output, cut, result, exit, error, tables, ms } = run
  if (!ran) {
    return (
      <section class="answer" aria-label="Run">
        <p>
          <span class="badge bad">not run</span> The program has errors.
        </p>
        <pre class="problem" role="alert">
          {error?.message}
        </pre>
      </section>
    )
  }
  return (
    <section class="answer" aria-label="Run">
      <div class="bar">
        <span class={`badge ${ok ? '' : 'bad'}`}>{ok ? 'ended' : 'failed'}</span>
        <span class="dim">{`${ms.toLocaleString('en')} ms${exit === null ? '' : `, exit code ${exit}`}`}</span>
      </div>
      {error === null ? null : <ErrorView error={error} onSelect={onSelect} />}
      <h2>Output</h2>
      {output.length === 0 ? (
        <p class="dim">The program printed nothing.</p>
      ) : (
        <pre tabIndex={0}>
          {output.map(({ kind, text }) => (kind === 'print' ? text : `${kind}: ${text}`)).join('\n')}
        </pre>
      )}
      {cut ? <p class="notice">Lines are omitted: the output is too long.</p> : null}
      {result === null ? null : (
        <>
          <h2>Result</h2>
          <pre tabIndex={0}>{result}</pre>
        </>
      )}
      {tables === null ? (
        <p class="dim">The tables were lost with the program.</p>
      ) : (
        tables.map(table => <TableView key={table.name} table={table} />)
      )}
    </section>
  )
}

function ErrorView({ error, onSelect }: { readonly error: RunError; readonly onSelect: (span: Span) => void }) {
  const { code, message, line, column, hint, calls } = error
  const span = line === null ? null : { start_line: line, start_col: column ?? 1, end_line: line, end_col: column ?? 1 }
  return (
    <div class="problem" role="alert">
      <pre>{code === null ? message : `${code}: ${message}`}</pre>
      {calls.map((call, index) => (
        <p key={index} class="dim">
          {call}
        </p>
      ))}
      {hint === null ? null : <p class="dim">{hint}</p>}
      {span === null ? null : (
        <button type="button" onClick={() => onSelect(span)}>
          {`Show line ${line}`}
        </button>
      )}
    </div>
  )
}

function TableView({ table: { name, columns, rows, total } }: { readonly table: TableRows }) {
  return (
    <>
      <h2>{`${name}: ${rows.length < total ? `${rows.length} of ` : ''}${counted(total, 'row')}`}</h2>
      {rows.length === 0 ? null : (
        <section class="scroll" aria-label={`Rows of ${name}`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                {columns.map(column => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(row => (
                <tr key={String(row._id)}>
                  {columns.map(column => (
                    <td key={column} data-label={column} class={typeof row[column] === 'number' ? 'number' : ''}>
                      <Cell value={row[column]} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  )
}
