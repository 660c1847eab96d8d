import { lazy } from '../lazy.tsx'
import { ErrorNotice, Loading, Tabs } from '../parts.tsx'
import { query, setQuery } from '../router.ts'
import { useSource } from '../source.ts'
import { mayCall } from '../state.ts'
import { TableView } from '../views/table.tsx'
import { ViewOf } from '../views/view.tsx'
import { PluginTable } from './plugin-table.tsx'

const GraphPicture = lazy(() => import('../views/graph.tsx').then(module => module.GraphPicture))

const TABS = [
  { id: 'list', title: 'Plugins' },
  { id: 'graph', title: 'Graph' },
  { id: 'generations', title: 'Generations' },
  { id: 'conflicts', title: 'Conflicts' },
  { id: 'cpu', title: 'CPU' },
  { id: 'hooks', title: 'Hooks' }
]

/** All plugins: states, dependencies, history of changes, conflicts and CPU time. */
export function Plugins() {
  const asked = query.value.get('tab') ?? 'list'
  const tab = TABS.some(({ id }) => id === asked) ? asked : 'list'
  const scope = { route: {}, filters: query.value }
  return (
    <div class="fill">
      <Tabs label="Plugins" items={TABS} selected={tab} onSelect={id => setQuery({ tab: id === 'list' ? '' : id })} />
      <div class="fill" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`} key={tab}>
        {tab === 'list' ? (
          <PluginTable />
        ) : tab === 'graph' ? (
          <PluginGraph />
        ) : tab === 'generations' ? (
          <TableView
            label="Generations"
            scope={scope}
            view={{
              kind: 'table',
              operation: 'kernel.generations.list',
              rows: 'generations',
              key: 'time',
              empty: 'No change of plugins since svc started.',
              columns: [
                { field: 'generation' },
                { field: 'time', format: 'time' },
                { field: 'cause' },
                { field: 'ms', title: 'Took', format: 'ms' },
                { field: 'changes' },
                { field: 'refused.code', title: 'Refused' }
              ]
            }}
          />
        ) : tab === 'conflicts' ? (
          <ViewOf
            label="Conflicts"
            scope={scope}
            view={{
              kind: 'stack',
              items: [
                {
                  title: 'Claimed twice',
                  view: {
                    kind: 'table',
                    operation: 'kernel.plugins.conflicts',
                    rows: 'keys',
                    key: 'key',
                    columns: [{ field: 'key' }, { field: 'used' }, { field: 'detail' }],
                    empty: 'No two plugins claim the same operation, route, service or key.'
                  }
                },
                {
                  title: 'Same name twice',
                  view: {
                    kind: 'table',
                    operation: 'kernel.plugins.conflicts',
                    rows: 'names',
                    key: 'shadowed',
                    columns: [{ field: 'name' }, { field: 'used' }, { field: 'shadowed' }],
                    empty: 'No two plugin packages have the same name.'
                  }
                }
              ]
            }}
          />
        ) : tab === 'cpu' ? (
          <Cpu />
        ) : (
          <ViewOf
            label="Hooks"
            scope={scope}
            view={{
              kind: 'table',
              operation: 'kernel.plugins.hooks',
              rows: 'hooks',
              key: 'id',
              columns: [
                { field: 'id' },
                { field: 'kind', format: 'state' },
                { field: 'owner' },
                { field: 'taps' },
                { field: 'summary' }
              ]
            }}
          />
        )}
      </div>
    </div>
  )
}

/** Names that the measurement gives to code of no plugin. */
const RUNTIME: ReadonlySet<string> = new Set(['kernel', 'node', 'gc'])

/** CPU time of each plugin, measured while the page is open. */
function Cpu() {
  if (!mayCall('kernel.plugins.top')) return <p class="dim">This role may not measure CPU time.</p>
  return (
    <div class="fill">
      <p class="dim">
        Measures for two seconds, then shows each plugin's share of one core. The rows kernel, node and gc are svc
        itself, Node and its garbage collection. Refresh measures again.
      </p>
      <TableView
        label="CPU time"
        scope={{ route: {}, filters: query.value }}
        address={row => {
          const { plugin } = row as { readonly plugin: string }
          return RUNTIME.has(plugin) ? null : `/ui/plugins/${encodeURIComponent(plugin)}`
        }}
        view={{
          kind: 'table',
          operation: 'kernel.plugins.top',
          input: { seconds: { value: 2 } },
          rows: 'plugins',
          key: 'plugin',
          sort: '-share',
          columns: [
            { field: 'plugin' },
            { field: 'share', format: 'percent' },
            { field: 'cpuMs', title: 'CPU time', format: 'ms' },
            { field: 'calls', format: 'number' }
          ]
        }}
      />
    </div>
  )
}

interface Edge {
  readonly from: string
  readonly token: string
  readonly to: string | null
  readonly kind: string
}

function PluginGraph() {
  const graph = useSource('kernel.plugins.graph', {})
  const list = useSource('kernel.plugins.list', {})
  const failure = graph.error.value ?? list.error.value
  if (failure !== null) return <ErrorNotice error={failure} />
  if (graph.loading.value || list.loading.value) return <Loading />
  const { edges } = graph.value.value as { edges: readonly Edge[] }
  const { plugins } = list.value.value as { plugins: readonly { name: string; state: string }[] }
  const used = new Set(edges.flatMap(({ from, to }) => [from, to]))
  const links = new Map<string, string[]>()
  for (const { from, to, token } of edges) {
    if (to === null || to === 'kernel') continue
    const key = JSON.stringify([from, to])
    links.set(key, [...(links.get(key) ?? []), token])
  }
  return (
    <GraphPicture
      label="Plugins and the services that they use"
      nodes={plugins
        .filter(({ name }) => used.has(name))
        .map(({ name, state }) => ({ id: name, label: name, state, to: `/ui/plugins/${encodeURIComponent(name)}` }))}
      edges={[...links].map(([key, tokens]) => {
        const [from, to] = JSON.parse(key) as [string, string]
        return { from, to, label: '', title: tokens.join(', ') }
      })}
    />
  )
}
