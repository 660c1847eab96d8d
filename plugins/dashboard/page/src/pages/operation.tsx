import { useState } from 'preact/hooks'
import { callText, curlText, mcpText } from '../call-texts.ts'
import { OperationForm } from '../form/operation-form.tsx'
import type { FormValue } from '../form/schema-form.tsx'
import { Badge, CopyButton, Empty, Loading } from '../parts.tsx'
import { operationsById } from '../state.ts'
import { useOperation } from '../views/use-operation.ts'

/** One operation: its form, its schemas, and how to call it elsewhere. */
export function Operation({ id }: { readonly id: string }) {
  const info = useOperation(id)
  const [input, setInput] = useState<FormValue>({})
  if (!operationsById.value.has(id))
    return (
      <Empty>
        {`No active plugin has an operation ${id}. `}
        <a href="/ui/operations">See all operations</a>
      </Empty>
    )
  if (info === undefined) return <Loading />
  const curl = curlText(info, input)
  const mcp = mcpText(info, input)
  return (
    <div class="stack">
      <div class="row">
        <Badge>{info.effect}</Badge>
        {info.scopes.map(scope => (
          <Badge key={scope}>{`scope ${scope}`}</Badge>
        ))}
        <a href={`/ui/plugins/${encodeURIComponent(info.plugin)}`}>{info.plugin}</a>
      </div>
      <p>{info.summary}</p>
      {info.description === undefined ? null : <p class="dim">{info.description}</p>}
      <OperationForm operation={id} onInput={setInput} />
      <section class="card stack" aria-label="Call it elsewhere">
        <h2>Call it elsewhere</h2>
        <div class="row">
          {curl === null ? null : <CopyButton label="Copy as curl" text={curl} />}
          <CopyButton label="Copy as command" text={callText(info, input)} />
          {mcp === null ? null : <CopyButton label="Copy as MCP call" text={mcp} />}
        </div>
        {info.shown.map(line => (
          <code key={line}>{line}</code>
        ))}
        <pre>{[curl, callText(info, input)].filter(Boolean).join('\n\n')}</pre>
      </section>
      <details class="card">
        <summary>Schemas and errors</summary>
        <div class="stack">
          <h3>Input</h3>
          <pre>{JSON.stringify(info.input, null, 2)}</pre>
          <h3>Output</h3>
          <pre>{JSON.stringify(info.output, null, 2)}</pre>
          <h3>Errors</h3>
          <pre>{JSON.stringify(info.errors, null, 2)}</pre>
        </div>
      </details>
    </div>
  )
}
