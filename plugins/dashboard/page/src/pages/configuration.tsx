import type { SettingReport } from '@svc/plugin-sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallError, call } from '../api.ts'
import { lazy } from '../lazy.tsx'
import { Badge, Empty, ErrorNotice, Loading, Tabs } from '../parts.tsx'
import { query, setQuery } from '../router.ts'
import { useSource } from '../source.ts'
import { mayCall } from '../state.ts'
import { DraftBar } from './config-draft.tsx'
import { matchingSettings } from './matching-settings.ts'
import { SettingInput } from './setting-input.tsx'

const TomlPage = lazy(() => import('./toml-page.tsx').then(module => module.TomlPage))

const WRITE = 'kernel.config.write'
const TABS = [
  { id: 'settings', title: 'Settings' },
  { id: 'toml', title: 'svc.toml' },
  { id: 'history', title: 'History' }
]
const HistoryPage = lazy(() => import('./config-history.tsx').then(module => module.ConfigHistory))

/** Settings with their values and origins; changes are previewed before they are written. */
export function Configuration() {
  const asked = query.value.get('tab') ?? 'settings'
  const tab = TABS.some(({ id }) => id === asked) ? asked : 'settings'
  const tabs = mayCall(WRITE) ? TABS : TABS.slice(0, 1)
  return (
    <div class="fill">
      <Tabs
        label="Configuration"
        items={tabs}
        selected={tab}
        onSelect={id => setQuery({ tab: id === 'settings' ? '' : id })}
      />
      <div class="stack" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`}>
        {tab === 'toml' ? <TomlPage /> : tab === 'history' ? <HistoryPage /> : <Settings />}
      </div>
    </div>
  )
}

function Settings() {
  const source = useSource('kernel.config.list', {})
  const filter = query.value.get('filter') ?? ''
  const [changes, setChanges] = useState<Readonly<Record<string, unknown>>>({})
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading lines={8} />
  const { settings } = source.value.value as { settings: readonly SettingReport[] }
  const onlySet = query.value.get('set') === 'yes'
  const shown = settings.filter(({ key, layer }) => !onlySet || layer !== 'default' || Object.hasOwn(changes, key))
  const found = matchingSettings(shown, filter)
  const change = (key: string, value: unknown): void => {
    const { [key]: _old, ...rest } = changes
    setChanges(value === undefined ? rest : { ...rest, [key]: value })
  }
  const groups = [...new Set(found.map(({ plugin }) => plugin))]
  return (
    <>
      <search class="row">
        <input
          type="search"
          data-filter=""
          aria-label="Filter settings"
          placeholder="Filter settings"
          value={filter}
          onInput={({ currentTarget }) => setQuery({ filter: currentTarget.value })}
        />
        <label class="row">
          <input
            type="checkbox"
            checked={onlySet}
            onChange={({ currentTarget }) => setQuery({ set: currentTarget.checked ? 'yes' : '' })}
          />
          only those that are set
        </label>
        <span class="small dim" role="status">{`${found.length} of ${settings.length} settings`}</span>
      </search>
      <DraftBar
        changes={changes}
        onDiscard={() => setChanges({})}
        onWritten={() => {
          setChanges({})
          source.refresh()
        }}
      />
      {found.length === 0 ? <Empty>No setting matches the filter.</Empty> : null}
      {groups.map(plugin => (
        <section class="card" key={plugin} aria-label={plugin}>
          <h2>{plugin}</h2>
          {found
            .filter(each => each.plugin === plugin)
            .map(setting => (
              <Setting
                key={setting.key}
                setting={setting}
                draft={changes[setting.key]}
                isChanged={Object.hasOwn(changes, setting.key)}
                onChange={value => change(setting.key, value)}
              />
            ))}
        </section>
      ))}
    </>
  )
}

interface SettingProps {
  readonly setting: SettingReport
  readonly draft: unknown
  readonly isChanged: boolean
  readonly onChange: (value: unknown) => void
}

interface Explanation {
  readonly schema: Readonly<Record<string, unknown>>
  readonly overrides: readonly { readonly layer: string; readonly place: string | null; readonly value: unknown }[]
}

function Setting({ setting, draft, isChanged, onChange }: SettingProps) {
  const { key, value, layer, place, env, reload, secret, description, refused } = setting
  const [explanation, setExplanation] = useState<Explanation | null>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  const input = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (explanation !== null) input.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [explanation])
  const edit = (): void => {
    call('kernel.config.explain', { key }).then(
      output => setExplanation(output as Explanation),
      error => setFailure(error instanceof CallError ? error : new Error(String(error)))
    )
  }
  return (
    <div class="setting" id={key}>
      <div>
        <code>{key}</code>
        <div class="small dim">{description}</div>
        <div class="row small">
          {layer === 'default' ? null : <Badge tone="accent">{layer}</Badge>}
          {place === null ? null : <span class="dim">{place}</span>}
          {reload === 'restart' ? <Badge tone="warn">needs a restart</Badge> : null}
          {env.map(name => (
            <code class="dim" key={name}>
              {name}
            </code>
          ))}
        </div>
      </div>
      <div class="stack" ref={input}>
        <div class="row">
          <code class="grow">{value === null || value === undefined ? '(not set)' : JSON.stringify(value)}</code>
          {isChanged ? <Badge tone="warn">changed</Badge> : null}
          {explanation === null && mayCall(WRITE) ? (
            <button type="button" class="compact" aria-label={`Edit ${key}`} onClick={edit}>
              Edit
            </button>
          ) : null}
          {isChanged ? (
            <button
              type="button"
              class="compact"
              aria-label={`Discard the change of ${key}`}
              onClick={() => onChange(undefined)}
            >
              Discard
            </button>
          ) : null}
        </div>
        {refused === undefined ? null : (
          <div class="notice bad small">{`${refused.place ?? refused.layer}: ${refused.message}`}</div>
        )}
        {failure === null ? null : <ErrorNotice error={failure} />}
        {explanation === null ? null : (
          <>
            <SettingInput
              settingKey={key}
              schema={explanation.schema}
              secret={secret}
              value={isChanged ? draft : value}
              isSet={layer !== 'default'}
              onChange={onChange}
            />
            {explanation.overrides.map(({ layer: from, place: at, value: other }) => (
              <div class="small dim" key={`${from} ${at}`}>
                {`overrides ${from}${at === null ? '' : ` (${at})`}: ${JSON.stringify(other)}`}
              </div>
            ))}
          </>
        )}
      </div>
    </div>
  )
}
