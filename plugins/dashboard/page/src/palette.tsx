import { useEffect, useState } from 'preact/hooks'
import { call } from './api.ts'
import { menu, offered } from './menu.ts'
import { Dialog } from './parts.tsx'
import { navigate } from './router.ts'
import { consoleState, mayCall } from './state.ts'

interface Entry {
  readonly title: string
  readonly kind: string
  readonly to: string
}

/** Tabs of the console's own pages, with the operation that each needs. */
const TABS = [
  { title: 'CPU time of plugins', to: '/ui/plugins?tab=cpu', operation: 'kernel.plugins.top' },
  { title: 'Graph of plugins', to: '/ui/plugins?tab=graph', operation: 'kernel.plugins.graph' },
  { title: 'History of changes of plugins', to: '/ui/plugins?tab=generations', operation: 'kernel.generations.list' },
  { title: 'History and rollback of svc.toml', to: '/ui/configuration?tab=history', operation: 'kernel.config.write' },
  { title: 'Text of svc.toml', to: '/ui/configuration?tab=toml', operation: 'kernel.config.write' }
]
const MAX_ENTRIES = 40
const SEARCH_DELAY_MS = 150
const SEARCH = 'dashboard.search'

/** Search over pages, plugins, operations, settings and the objects of plugins. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [selected, setSelected] = useState(0)
  const [found, setFound] = useState<readonly Entry[]>([])
  const [settings, setSettings] = useState<readonly Entry[]>([])
  const [plugins, setPlugins] = useState<readonly Entry[]>([])
  useEffect(() => {
    // A search without these is still of use, so that a failure is not reported.
    const load = (operation: string, set: (output: unknown) => void): void => {
      if (mayCall(operation)) call(operation, {}).then(set, () => {})
    }
    load('kernel.plugins.list', output => setPlugins(pluginEntries(output)))
    load('kernel.config.list', output => setSettings(settingEntries(output)))
  }, [])
  useEffect(() => {
    setFound([])
    if (text.trim().length < 2 || !mayCall(SEARCH)) return
    const cancel = new AbortController()
    const timer = setTimeout(() => {
      call(SEARCH, { text: text.trim() }, { signal: cancel.signal }).then(
        output => setFound(resultEntries(output)),
        () => {}
      )
    }, SEARCH_DELAY_MS)
    return () => {
      clearTimeout(timer)
      cancel.abort()
    }
  }, [text])
  const entries = [...matching(text, plugins, settings), ...found].slice(0, MAX_ENTRIES)
  const at = Math.min(selected, Math.max(entries.length - 1, 0))
  const open = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    navigate(entry.to)
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setSelected((at + step + entries.length) % Math.max(entries.length, 1))
    } else if (event.key === 'Enter') open(entries[at])
  }
  return (
    <Dialog title="Search" onClose={onClose} class="palette">
      <input
        autofocus
        type="text"
        role="combobox"
        aria-label="Search"
        aria-expanded={entries.length > 0}
        aria-controls="palette-list"
        aria-activedescendant={entries.length === 0 ? undefined : `palette-${at}`}
        placeholder="Search pages, plugins, operations, settings, tasks…"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setSelected(0)
        }}
        onKeyDown={onKey}
      />
      {entries.length === 0 ? <p class="empty">{text === '' ? '' : 'Nothing has that name.'}</p> : null}
      <div role="listbox" id="palette-list" aria-label="results" tabIndex={-1}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above handles the keyboard
          <div
            key={`${entry.kind} ${entry.title} ${entry.to}`}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(entry)}
          >
            <span class="grow one-line">{entry.title}</span>
            <span class="small dim">{entry.kind}</span>
          </div>
        ))}
      </div>
    </Dialog>
  )
}

function matching(text: string, plugins: readonly Entry[], settings: readonly Entry[]): readonly Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const pages = [...menu.value, ...offered.value].map(({ title, to }): Entry => ({ title, kind: 'page', to }))
  if (words.length === 0) return pages
  const operations = consoleState.value?.operations ?? []
  const all: readonly Entry[] = [
    ...pages,
    ...TABS.filter(({ operation }) => mayCall(operation)).map(({ title, to }) => ({ title, kind: 'page', to })),
    ...plugins,
    ...operations.map(
      ({ id, summary }): Entry => ({ title: `${id}: ${summary}`, kind: 'operation', to: `/ui/operations/${id}` })
    ),
    ...settings
  ]
  return all
    .filter(({ title }) => words.every(word => title.toLowerCase().includes(word)))
    .map(entry => ({ entry, rank: rankOf(entry.title.toLowerCase(), words) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry)
}

/** Returns 0 for an entry with the searched name, 1 if its name begins so, 2 if it contains it, and 3 if its summary does. */
function rankOf(title: string, words: readonly string[]): number {
  const [name = ''] = title.split(': ')
  const text = words.join(' ')
  if (name === text) return 0
  if (name.startsWith(text)) return 1
  return words.every(word => name.includes(word)) ? 2 : 3
}

function pluginEntries(output: unknown): readonly Entry[] {
  return (output as { plugins: readonly { name: string }[] }).plugins.map(({ name }) => ({
    title: name,
    kind: 'plugin',
    to: `/ui/plugins/${encodeURIComponent(name)}`
  }))
}

function settingEntries(output: unknown): readonly Entry[] {
  return (output as { settings: readonly { key: string; description: string }[] }).settings.map(
    ({ key, description }) => ({
      title: `${key}: ${description}`,
      kind: 'setting',
      to: `/ui/configuration?filter=${encodeURIComponent(key)}`
    })
  )
}

function resultEntries(output: unknown): readonly Entry[] {
  return (output as { results: readonly { title: string; kind: string; link: string }[] }).results.map(
    ({ title, kind, link }) => ({ title, kind, to: link })
  )
}
