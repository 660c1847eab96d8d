import { useEffect, useState } from 'preact/hooks'
import { type CallError, call } from '../api.ts'
import { titleOf } from '../format.ts'
import { Badge, Dialog, Empty, ErrorNotice, Icon, Loading, reportError } from '../parts.tsx'
import { useSource } from '../source.ts'
import { consoleState, mayCall, showToast } from '../state.ts'
import { Fields } from '../views/record.tsx'

interface PluginReport {
  readonly name: string
  readonly summary: string
  readonly state: string
  readonly why: string | null
  readonly hint: string | null
  readonly refused: boolean
}

interface EffectNode {
  readonly label: string
  readonly children: readonly EffectNode[]
}

type Change = 'enable' | 'disable' | 'reload'

/** One plugin: state and its reasons, permissions, everything that it registered, and its changes. */
export function Plugin({ name }: { readonly name: string }) {
  const list = useSource('kernel.plugins.list', {})
  const [change, setChange] = useState<Change | null>(null)
  if (list.error.value !== null) return <ErrorNotice error={list.error.value} retry={() => list.refresh()} />
  if (list.loading.value) return <Loading />
  const { plugins } = list.value.value as { plugins: readonly PluginReport[] }
  const plugin = plugins.find(each => each.name === name)
  if (plugin === undefined)
    return (
      <Empty>
        {`No plugin named ${name} was found. `}
        <a href="/ui/plugins">See all plugins</a>
      </Empty>
    )
  const isOff = plugin.state === 'disabled'
  const columns = Object.keys(plugin)
    .filter(field => !['name', 'summary', 'state', 'why', 'hint', 'refused'].includes(field))
    .map(field => ({
      field,
      title: field === 'activateMs' ? 'Activation' : titleOf(field),
      format: field === 'activateMs' ? ('ms' as const) : undefined,
      schema: undefined,
      link: undefined
    }))
  return (
    <div class="stack">
      <div class="row">
        <Badge>{plugin.state}</Badge>
        <span class="grow dim">{plugin.summary}</span>
        {mayCall('kernel.plugins.reload') && !isOff ? (
          <button type="button" onClick={() => setChange('reload')}>
            <Icon name="refresh-cw" />
            Reload
          </button>
        ) : null}
        {mayCall('kernel.plugins.disable') ? (
          <button
            type="button"
            class={isOff ? 'primary' : 'danger'}
            onClick={() => setChange(isOff ? 'enable' : 'disable')}
          >
            {isOff ? 'Enable' : 'Disable'}
          </button>
        ) : null}
      </div>
      {plugin.why === null ? null : (
        <div class={`notice ${plugin.state === 'disabled' ? '' : 'warn'}`}>
          <Icon name="triangle-alert" />
          <div>
            {plugin.why}
            {plugin.hint === null ? null : <div class="small">{plugin.hint}</div>}
          </div>
        </div>
      )}
      <Why plugin={plugin} others={plugins} />
      <section class="card stack" aria-label="State">
        <h2>State</h2>
        <Fields columns={columns} row={plugin} />
      </section>
      <PagesOf name={name} />
      <Permissions name={name} />
      <Effects name={name} state={plugin.state} />
      <p>
        <a href={`/ui/configuration?filter=${encodeURIComponent(`plugins.${name}.`)}`}>Settings of this plugin</a>
        {' · '}
        <a href={`/ui/operations?filter=${encodeURIComponent(name)}`}>Its operations</a>
        {' · '}
        <a href={`/ui/p/observability/logs?plugin=${encodeURIComponent(name)}`}>Its log</a>
      </p>
      {change === null ? null : <ChangeDialog name={name} change={change} onClose={() => setChange(null)} />}
    </div>
  )
}

interface WhyProps {
  readonly plugin: PluginReport
  readonly others: readonly PluginReport[]
}

/** Further reasons of a state, and links to the plugins that they name. */
function Why({ plugin, others }: WhyProps) {
  const { name, state, why } = plugin
  const [reasons, setReasons] = useState<readonly string[]>([])
  useEffect(() => {
    call('kernel.plugins.why', { subject: name }).then(
      output => setReasons((output as { reasons: string[] }).reasons),
      () => {}
    )
  }, [name, state, why])
  // The notice above has the first reason.
  const further = reasons.filter(reason => why === null || !reason.includes(why))
  const words = new Set(`${why ?? ''} ${reasons.join(' ')}`.split(/[^\w-]+/))
  const named = state === 'active' ? [] : others.filter(other => other.name !== name && words.has(other.name))
  if (further.length === 0 && named.length === 0) return null
  return (
    <section class="card stack" aria-label="Why">
      <h2>Why it is in this state</h2>
      {further.length === 0 ? null : (
        <ul>
          {further.map(reason => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
      {named.map(other => (
        <div class="row" key={other.name}>
          <a href={`/ui/plugins/${encodeURIComponent(other.name)}`}>{other.name}</a>
          <Badge>{other.state}</Badge>
          <span class="dim">{other.summary}</span>
        </div>
      ))}
    </section>
  )
}

function PagesOf({ name }: { readonly name: string }) {
  const { pages = [], broken = [] } = consoleState.value ?? {}
  const own = pages.filter(({ plugin, path }) => plugin === name && !path.includes(':'))
  const wrong = broken.filter(({ plugin }) => plugin === name)
  if (own.length === 0 && wrong.length === 0) return null
  return (
    <section class="card stack" aria-label="Pages">
      <h2>Pages</h2>
      <ul>
        {own.map(({ path, title }) => (
          <li key={path}>
            <a href={`/ui/p/${path}`}>{title}</a>
          </li>
        ))}
      </ul>
      {wrong.map(({ point, entry, reason }) => (
        <div class="notice warn" key={`${point} ${entry}`}>{`${entry} is not shown: ${reason}`}</div>
      ))}
    </section>
  )
}

function Permissions({ name }: { readonly name: string }) {
  const [output, setOutput] = useState<unknown>()
  useEffect(() => {
    if (!mayCall('kernel.plugins.permissions')) return
    call('kernel.plugins.permissions', { name }).then(setOutput, () => {})
  }, [name])
  if (output === undefined) return null
  return (
    <section class="card stack" aria-label="Permissions">
      <h2>Permissions</h2>
      <pre>{(output as { text: string }).text}</pre>
    </section>
  )
}

function Effects({ name, state }: { readonly name: string; readonly state: string }) {
  const [tree, setTree] = useState<EffectNode | null>(null)
  useEffect(() => {
    call('kernel.plugins.effects', { name }).then(
      output => setTree((output as { tree: EffectNode }).tree),
      () => setTree(null)
    )
  }, [name, state])
  if (tree === null) return null
  return (
    <details class="card">
      <summary>Everything that it registered</summary>
      <Tree node={tree} />
    </details>
  )
}

function Tree({ node }: { readonly node: EffectNode }) {
  return (
    <ul>
      {node.children.map(child => (
        <li key={child.label}>
          {child.label}
          {child.children.length === 0 ? null : <Tree node={child} />}
        </li>
      ))}
    </ul>
  )
}

interface ChangeReport {
  readonly steps: readonly string[]
  readonly add: readonly string[]
  readonly replace: readonly string[]
  readonly remove: readonly string[]
}

/** Shows what a change would do, then carries it out. */
function ChangeDialog({
  name,
  change,
  onClose
}: {
  readonly name: string
  readonly change: Change
  readonly onClose: () => void
}) {
  const [plan, setPlan] = useState<ChangeReport | null>(null)
  const [failure, setFailure] = useState<CallError | null>(null)
  const [persist, setPersist] = useState(true)
  const [busy, setBusy] = useState(false)
  const operation = `kernel.plugins.${change}`
  const input = { names: [name], ...(change === 'reload' ? {} : { persist }) }
  useEffect(() => {
    setPlan(null)
    call(operation, { ...input, dryRun: true }).then(output => setPlan(output as ChangeReport), setFailure)
  }, [persist])
  const apply = async (): Promise<void> => {
    setBusy(true)
    try {
      await call(operation, input)
      const { plugins } = (await call('kernel.plugins.list', {})) as { plugins: readonly PluginReport[] }
      const now = plugins.find(each => each.name === name)
      if (change === 'disable' || now?.state === 'active') showToast('ok', `${titleOf(change)} ${name}: done`)
      else showToast('bad', `${name} is ${now?.state ?? 'gone'}`, now?.why ?? undefined)
      onClose()
    } catch (error) {
      reportError(error)
    } finally {
      setBusy(false)
    }
  }
  const title = `${change === 'enable' ? 'Enable' : change === 'disable' ? 'Disable' : 'Reload'} ${name}?`
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        <h2>{title}</h2>
        {failure !== null ? (
          <ErrorNotice error={failure} />
        ) : plan === null ? (
          <Loading lines={3} />
        ) : (
          <>
            <p>This would happen:</p>
            <ul>
              {plan.steps.length === 0 ? (
                <li>nothing: it is so already</li>
              ) : (
                plan.steps.map(step => <li key={step}>{step}</li>)
              )}
            </ul>
          </>
        )}
        {change === 'reload' ? null : (
          <label class="row">
            <input
              type="checkbox"
              checked={persist}
              onChange={({ currentTarget }) => setPersist(currentTarget.checked)}
            />
            write it to svc.toml, so that it also counts after a restart
          </label>
        )}
        <div class="row">
          <button
            type="button"
            class={change === 'disable' ? 'danger' : 'primary'}
            disabled={plan === null || busy}
            onClick={() => void apply()}
          >
            {change === 'enable' ? 'Enable' : change === 'disable' ? 'Disable' : 'Reload'}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  )
}
