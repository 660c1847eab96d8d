import type { GroupView as Group } from '@svc/contracts'
import { Tabs } from '../parts.tsx'
import { query, setQuery } from '../router.ts'
import type { ViewOf as DrawView, ViewProps } from './view.tsx'

interface GroupProps extends ViewProps<Group> {
  /** Draws a view of the group. */
  readonly viewOf: typeof DrawView
}

/** Draws views below each other, or one of them with tabs. The open tab is in the URL. */
export function GroupView({ view: { kind, items }, scope, label, viewOf: ViewOf }: GroupProps) {
  if (kind === 'stack') {
    // Charts share a line, two by two.
    const charts = items.filter(({ view }) => view.kind === 'chart').length
    return (
      <div class={charts > 1 ? 'stack charts' : 'stack'}>
        {items.map(({ title, view }, index) => (
          <section class={view.kind === 'chart' ? 'stack half' : 'stack'} key={index}>
            {title === undefined ? null : <h2>{title}</h2>}
            <ViewOf view={view} scope={scope} label={title ?? label} />
          </section>
        ))}
      </div>
    )
  }
  const tabs = items.map((item, index) => ({ id: String(index), title: item.title ?? `${index + 1}` }))
  const selected = Number(query.value.get('tab') ?? 0)
  const at = items[selected] === undefined ? 0 : selected
  const open = items[at]
  if (open === undefined) return null
  return (
    <div class="fill">
      <Tabs label={label} items={tabs} selected={String(at)} onSelect={id => setQuery({ tab: id === '0' ? '' : id })} />
      <div class="fill" role="tabpanel" id={`panel-${at}`} aria-labelledby={`tab-${at}`} key={at}>
        <ViewOf view={open.view} scope={scope} label={open.title ?? label} />
      </div>
    </div>
  )
}
