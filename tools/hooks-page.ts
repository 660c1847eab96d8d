import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as contracts from '@svc/contracts'
import { type DeclaredHook, hookKind, type PluginManifest } from '@svc/plugin-sdk'

interface Entry {
  readonly hook: DeclaredHook
  readonly owner: string
}

const FAILURE = {
  fail: 'A tap that throws fails the caller. An error with a code and a status below 500 is a refusal and is not logged.',
  skip: 'A tap that throws is logged with its plugin and skipped.'
}

const INTRODUCTION = `# Hooks that svc triggers

Made by \`npm run docs\` from what the kernel and the plugins declare. [How to tap a hook](authoring/hooks.md).
\`svc plugins hooks\` lists those of a project, with the plugins that tap them.

| Kind | A tap may |
|---|---|
| observe | watch |
| refuse | watch, and refuse by a throw |
| change | return another payload, and refuse by a throw |
| answer | return the answer in place of the plugin that asks, and refuse by a throw |

A tap receives the payload as its first argument. A hook without taps costs one look-up.
`

/** Renders the page of all hooks. `root`: the repository, whose sources show which plugin taps which hook. */
export function renderHooksPage(manifests: readonly PluginManifest[], root: string): string {
  const taps = tapsIn(root)
  const entries: Entry[] = [
    ...contracts.kernelHooks.map(hook => ({ hook, owner: 'kernel' })),
    ...manifests.flatMap(({ name, hooks }) => hooks.map(hook => ({ hook, owner: name })))
  ]
  // A hook that two plugins trigger is one entry.
  const merged = [...new Set(entries.map(({ hook }) => hook.id))].map(id => {
    const same = entries.filter(({ hook }) => hook.id === id)
    return {
      hook: (same[0] as Entry).hook,
      owner: same
        .map(({ owner }) => owner)
        .sort()
        .join(', ')
    }
  })
  const sorted = merged.toSorted((a, b) => (a.hook.id < b.hook.id ? -1 : 1))
  const rows = sorted.map(({ hook, owner }) => {
    const link = `[\`${hook.id}\`](#${hook.id.replaceAll('.', '')})`
    return `| ${link} | ${hookKind(hook)} | ${owner} | ${taps.get(hook.id)?.join(', ') ?? ''} |`
  })
  return [
    INTRODUCTION,
    '| Hook | Kind | Triggered by | Tapped by |',
    '|---|---|---|---|',
    ...rows,
    ...sorted.flatMap(entry => section(entry, taps.get(entry.hook.id) ?? [])),
    ''
  ].join('\n')
}

function section({ hook, owner }: Entry, tappedBy: readonly string[]): string[] {
  const { id, mode, onError, summary = '', payload = {} } = hook
  const token = Object.entries(contracts).find(([, value]) => isHook(value) && value.id === id)?.[0]
  const fields = Object.entries(payload).map(([field, about]) => `| \`${field}\` | ${about} |`)
  return [
    '',
    `## ${id}`,
    '',
    ...(summary === '' ? [] : [summary, '']),
    `${token === undefined ? '' : `\`${token}\` in \`@svc/contracts\`. `}Mode ${mode}. Triggered by ${owner}. Tapped by ${tappedBy.join(', ') || 'no plugin of svc'}.`,
    FAILURE[onError],
    ...(fields.length === 0 ? [] : ['', '| Field | What it is |', '|---|---|', ...fields])
  ]
}

/** Plugins by the hook that they tap, read from \`ctx.on(NAME\` in their sources. */
function tapsIn(root: string): ReadonlyMap<string, readonly string[]> {
  const taps = new Map<string, string[]>()
  for (const plugin of readdirSync(join(root, 'plugins')).sort()) {
    const text = sourcesOf(join(root, 'plugins', plugin, 'src')).join('\n')
    for (const [, name = ''] of text.matchAll(/\bctx\.on\((\w+)/g)) {
      const hook = (contracts as Record<string, unknown>)[name]
      if (!isHook(hook)) continue
      const known = taps.get(hook.id) ?? []
      if (!known.includes(plugin)) taps.set(hook.id, [...known, plugin])
    }
  }
  return taps
}

function sourcesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
  return files.map(entry => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
}

function isHook(value: unknown): value is DeclaredHook {
  return (value as { kind?: unknown } | null | undefined)?.kind === 'hook'
}
