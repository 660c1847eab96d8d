import type { View } from '@svc/contracts'
import { useState } from 'preact/hooks'
import { linkAddress } from '../bindings.ts'
import { agoText, durationText } from '../format.ts'
import { Badge, Empty, ErrorNotice, Loading } from '../parts.tsx'
import { query } from '../router.ts'
import { useSource } from '../source.ts'
import { consoleState, inboxCount, mayCall } from '../state.ts'
import { ViewOf } from '../views/view.tsx'

interface PluginRow {
  readonly name: string
  readonly state: string
  readonly why: string | null
  readonly refused: boolean
}

const DEFAULT_ORDER = 100
const FINE: ReadonlySet<string> = new Set(['active', 'disabled', 'resolved'])

/** Start page: state of the plugins, what waits for a person, and the cards of plugins. */
export function Overview() {
  const cards = [...(consoleState.value?.cards ?? [])]
    .filter(({ view }) => operationsOf(view).every(mayCall))
    .sort((a, b) => (a.order ?? DEFAULT_ORDER) - (b.order ?? DEFAULT_ORDER))
  const scope = { route: {}, filters: query.value }
  return (
    <div class="cards">
      <FirstSteps />
      <PluginsCard />
      <InboxCard />
      <GenerationCard />
      {cards.map(card => {
        const to = card.link === undefined ? null : linkAddress(card.link, scope)
        return (
          <section class={`card ${card.size}`} key={`${card.plugin} ${card.title}`} aria-label={card.title}>
            <header>
              <h2>{card.title}</h2>
              <span class="grow" />
              {to === null ? null : (
                <a class="small" href={to} aria-label={`Open ${card.title}`}>
                  Open
                </a>
              )}
            </header>
            <ViewOf view={card.view} scope={scope} label={card.title} />
          </section>
        )
      })}
    </div>
  )
}

/** Returns the operations that supply a view with data. */
function operationsOf(view: View): readonly string[] {
  return 'items' in view ? view.items.flatMap(item => operationsOf(item.view)) : [view.operation]
}

const STEPS = [
  {
    page: 'model-server/playground',
    text: 'Talk to a model',
    detail: 'in the playground, or compare two of them'
  },
  { page: 'orchestrator-tools/submit', text: 'Submit a task', detail: 'and follow how agents work on it' },
  { page: 'app-runtime/apps', text: 'Serve a program', detail: 'with svc dev FILE, then browse its tables and routes' },
  { page: 'observability/requests', text: 'Find a request', detail: 'by its id, with its log lines, SQL and spans' }
] as const
const DISMISSED = 'svc-first-steps'

/** First steps for new users, until they hide them in this browser. */
function FirstSteps() {
  const [hidden, setHidden] = useState(localStorage.getItem(DISMISSED) === 'hidden')
  const pages = new Set(consoleState.value?.pages.map(({ path }) => path))
  const steps = STEPS.filter(({ page }) => pages.has(page))
  if (hidden || steps.length === 0) return null
  const hide = (): void => {
    localStorage.setItem(DISMISSED, 'hidden')
    setHidden(true)
  }
  return (
    <section class="card l" aria-label="First steps">
      <header>
        <h2>First steps</h2>
        <span class="grow" />
        <button type="button" class="plain compact" onClick={hide}>
          Hide
        </button>
      </header>
      <ul class="steps">
        {steps.map(({ page, text, detail }) => (
          <li key={page}>
            <a href={`/ui/p/${page}`}>{text}</a>
            <div class="small dim">{detail}</div>
          </li>
        ))}
        <li>
          <a href="/ui/operations">Try an operation</a>
          <div class="small dim">and copy it as curl, as a command or as an MCP call</div>
        </li>
      </ul>
    </section>
  )
}

function PluginsCard() {
  if (!mayCall('kernel.plugins.list')) return null
  return <PluginStates />
}

function PluginStates() {
  const source = useSource('kernel.plugins.list', {})
  const plugins = (source.value.value as { plugins: readonly PluginRow[] } | undefined)?.plugins
  if (source.error.value !== null)
    return (
      <section class="card s" aria-label="Plugins">
        <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
      </section>
    )
  const wrong = (plugins ?? []).filter(({ state, refused }) => !FINE.has(state) || refused)
  return (
    <section class="card s" aria-label="Plugins">
      <header>
        <h2>Plugins</h2>
        <span class="grow" />
        <a class="small" href="/ui/plugins" aria-label="Open Plugins">
          Open
        </a>
      </header>
      {plugins === undefined ? (
        <Loading lines={2} />
      ) : (
        <>
          <div class="row">
            <span class="big">{plugins.filter(({ state }) => state === 'active').length}</span>
            <span class="dim">active</span>
          </div>
          {wrong.length === 0 ? (
            <Badge tone="ok">all healthy</Badge>
          ) : (
            wrong.map(({ name, state, refused }) => (
              <div class="row" key={name}>
                <a href={`/ui/plugins/${encodeURIComponent(name)}`}>{name}</a>
                <Badge>{refused && FINE.has(state) ? 'change refused' : state}</Badge>
              </div>
            ))
          )}
        </>
      )}
    </section>
  )
}

function InboxCard() {
  const count = inboxCount.value
  return (
    <section class="card s" aria-label="Inbox">
      <header>
        <h2>Waiting for you</h2>
        <span class="grow" />
        <a class="small" href="/ui/inbox" aria-label="Open Inbox">
          Open
        </a>
      </header>
      <div class="row">
        <span class="big">{count}</span>
        <span class="dim">{count === 1 ? 'item in the inbox' : 'items in the inbox'}</span>
      </div>
    </section>
  )
}

interface GenerationRow {
  readonly time: string
  readonly cause: string
  readonly ms: number
}

function GenerationCard() {
  if (!mayCall('kernel.generations.list')) return null
  return <LastGeneration />
}

function LastGeneration() {
  const source = useSource('kernel.generations.list', {})
  const rows = (source.value.value as { generations: readonly GenerationRow[] } | undefined)?.generations
  const last = rows?.[0]
  return (
    <section class="card m" aria-label="Generation">
      <header>
        <h2>{`Generation ${consoleState.value?.generation ?? ''}`}</h2>
        <span class="grow" />
        <a class="small" href="/ui/plugins?tab=generations">
          History
        </a>
      </header>
      {source.error.value !== null ? (
        <ErrorNotice error={source.error.value} />
      ) : rows === undefined ? (
        <Loading lines={2} />
      ) : last === undefined ? (
        <Empty>No change since the start.</Empty>
      ) : (
        <p>
          {last.cause} <span class="dim">{`· ${agoText(Date.parse(last.time))} · took ${durationText(last.ms)}`}</span>
        </p>
      )}
    </section>
  )
}
