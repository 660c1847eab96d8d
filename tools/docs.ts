// Writes the generated files: docs/config.md, docs/hooks.md, .env.example, the registry of MCP tools and the methods of the daemon. `npm run docs`
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describePlugin, type Plugin, type PluginManifest } from '@svc/plugin-sdk'
import { declarePlugins } from '../kernel/src/host/sections.ts'
import { renderConfigReference, renderEnvExample } from '../kernel/tools/config-reference.ts'
import { renderHooksPage } from './hooks-page.ts'
import { renderRpcMethods } from './rpc-methods.ts'
import { renderToolRegistry } from './tool-registry.ts'

const ROOT = join(import.meta.dirname, '..')

/** Texts by path from the root. */
export async function generatedDocs(): Promise<ReadonlyMap<string, string>> {
  const manifests = await ownManifests()
  return new Map([
    ['docs/config.md', configReference(manifests)],
    ['docs/hooks.md', renderHooksPage(manifests, ROOT)],
    ['.env.example', `${ENV_INTRODUCTION}\n${renderEnvExample(manifests).trimEnd()}\n`],
    ['contracts/mcp/tool-registry.canonical.yaml', renderToolRegistry(manifests)],
    ['contracts/orchestration/orch-daemon-rpc-methods.schema.json', renderRpcMethods(manifests)]
  ])
}

export async function ownManifests(): Promise<PluginManifest[]> {
  const folders = readdirSync(join(ROOT, 'plugins'))
    .filter(name => existsSync(join(ROOT, 'plugins', name, 'src', 'plugin.ts')))
    .sort()
  return Promise.all(
    folders.map(async folder => {
      const { version } = JSON.parse(readFileSync(join(ROOT, 'plugins', folder, 'package.json'), 'utf8'))
      const url = pathToFileURL(join(ROOT, 'plugins', folder, 'src', 'plugin.ts'))
      return describePlugin(((await import(url.href)) as { default: Plugin }).default, version)
    })
  )
}

function configReference(manifests: readonly PluginManifest[]): string {
  const [title, ...tables] = renderConfigReference(manifests).split('\n')
  const variables = [...declarePlugins(manifests).variables].sort(([a], [b]) => (a < b ? -1 : 1))
  const rows = variables.map(([variable, key]) => `| \`${variable}\` | \`${key}\` |`)
  return [
    title,
    '',
    CONFIG_INTRODUCTION,
    ...tables,
    '## Environment variables',
    '',
    VARIABLES_INTRODUCTION,
    '| Variable | Setting |',
    '|---|---|',
    ...rows,
    ''
  ].join('\n')
}

const ENV_INTRODUCTION = `# Every variable that svc reads for a setting, with its default. Made by \`npm run docs\`; docs/config.md says more.
# svc reads the environment, not this file: load it with your shell, your service manager or \`node --env-file\`.
`

const CONFIG_INTRODUCTION = `Made by \`npm run docs\` from what the kernel and the plugins declare.

Settings are read from these layers; a higher one wins. Tables merge, everything else replaces, and the text \`"!unset"\`
takes out what lower layers say.

| Layer | From |
|---|---|
| default | the default that the setting declares |
| defaults | \`config/defaults.toml\` of the installation |
| user | \`$XDG_CONFIG_HOME/svc/svc.toml\`, else \`~/.config/svc/svc.toml\` |
| project | the nearest \`svc.toml\` upward from the working directory |
| profile | with \`--profile NAME\`: \`config/profiles/NAME.toml\` of the installation, then \`svc.NAME.toml\` of the project |
| local | \`svc.local.toml\` next to \`svc.toml\`, for settings that are not committed |
| environment | the variables below |
| set | \`--set KEY=VALUE\` on the command line |

- \`svc config list [PREFIX]\` shows every value with its layer and place; \`svc config explain KEY\` what it overrides;
  \`svc config validate\` checks the files without applying them; \`svc config schema\` prints a JSON Schema for editors.
- An undeclared key, or a value of the wrong type or range, is an error with file, line and column. A wrong
  value in an environment variable is a warning that names the variable, and the setting keeps what other layers say.
- Reload says what a change costs while svc serves: \`live\` nothing, \`plugin\` a replacement of the plugin without a
  failed request, \`restart\` that it waits for the next start.
- Booleans in the environment: \`1\`, \`true\`, \`yes\`, \`y\`, \`on\` and \`0\`, \`false\`, \`no\`, \`n\`, \`off\` in any case, or
  only \`true\` and \`false\` where the setting is strict. Lists are JSON or separated by commas.
- In place of a value of a plugin, \`secret://env/NAME\` takes it from the environment variable \`NAME\` when the plugin
  is activated. Secrets are masked everywhere; references are not.
- A setting named \`breaker.failures\` is in the table \`[plugins.NAME.breaker]\`.`

const VARIABLES_INTRODUCTION = `These set settings. A variable that begins with \`SVC_\` and resembles one of them is warned about; variables
of planned features are not read.
`

if (process.argv[1] === import.meta.filename) {
  for (const [path, text] of await generatedDocs()) await writeFile(join(ROOT, path), text)
}
