import { useState } from 'preact/hooks'
import { Badge, Empty } from '../parts.tsx'
import { query, setQuery } from '../router.ts'
import { consoleState } from '../state.ts'

/** All operations of the serving plugins. */
export function Operations() {
  const filter = query.value.get('filter') ?? ''
  const [onlyAllowed, setOnlyAllowed] = useState(false)
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const found = (consoleState.value?.operations ?? []).filter(
    ({ id, summary, plugin, allowed }) =>
      (allowed || !onlyAllowed) && words.every(word => `${id} ${summary} ${plugin}`.toLowerCase().includes(word))
  )
  const plugins = [...new Set(found.map(({ plugin }) => plugin))].sort()
  return (
    <div class="stack">
      <search class="row">
        <input
          type="search"
          data-filter=""
          aria-label="Filter operations"
          placeholder="Filter operations"
          value={filter}
          onInput={({ currentTarget }) => setQuery({ filter: currentTarget.value })}
        />
        <label class="row">
          <input
            type="checkbox"
            checked={onlyAllowed}
            onChange={({ currentTarget }) => setOnlyAllowed(currentTarget.checked)}
          />
          only those that I may call
        </label>
        <span class="grow" />
        <a href="/openapi.json" target="_blank" rel="noopener">
          OpenAPI document
        </a>
      </search>
      {found.length === 0 ? <Empty>No operation matches the filter.</Empty> : null}
      {plugins.map(plugin => (
        <section class="card stack" key={plugin} aria-label={plugin}>
          <h2>
            <a href={`/ui/plugins/${encodeURIComponent(plugin)}`}>{plugin}</a>
          </h2>
          <dl class="record">
            {found
              .filter(each => each.plugin === plugin)
              .map(({ id, summary, effect, allowed }) => (
                <>
                  <dt key={id}>
                    <a class="mono" href={`/ui/operations/${encodeURIComponent(id)}`}>
                      {id}
                    </a>
                  </dt>
                  <dd class="row">
                    <span>{summary}</span>
                    <Badge>{effect}</Badge>
                    {allowed ? null : <Badge>not allowed</Badge>}
                  </dd>
                </>
              ))}
          </dl>
        </section>
      ))}
    </div>
  )
}
