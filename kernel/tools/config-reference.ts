import { type Declared, type DeclaredSection, declaredSettings, describe, keyText } from '@svc/config'
import { policySchema } from '../src/host/kernel-settings.ts'
import { type ConfigurablePlugin, declarePlugins } from '../src/host/sections.ts'

/** Renders Markdown with a table per plugin: each setting with type, default, variables and reload class. */
export function renderConfigReference(plugins: readonly ConfigurablePlugin[]): string {
  const [kernel, ...registered] = sectionsOf(plugins)
  const parts = [
    part('Kernel', 'kernel', kernel?.declared ?? []),
    part('Every plugin', 'plugins.NAME', declaredSettings(policySchema)),
    ...registered.map(({ owner, prefix, declared }) => part(owner, keyText(prefix), declared))
  ]
  return `${['# Configuration', ...parts.filter(text => text !== '')].join('\n\n')}\n`
}

/** Returns the section of the kernel and the settings of each plugin. */
function sectionsOf(plugins: readonly ConfigurablePlugin[]): readonly DeclaredSection[] {
  return declarePlugins(plugins).sections.filter(({ listed }) => listed !== 'when-mentioned')
}

function part(title: string, table: string, settings: readonly Declared[]): string {
  if (settings.length === 0) return ''
  const rows = settings.map(setting => {
    const cells = [
      code(keyText(setting.path)),
      setting.secret ? `${describe(setting.schema)}, secret` : describe(setting.schema),
      setting.secret || setting.schema.default === undefined ? '' : code(JSON.stringify(setting.schema.default)),
      setting.env.map(code).join(', '),
      setting.reload,
      [descriptionOf(setting), aliasesText(setting)].filter(text => text !== '').join(' ')
    ]
    return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  const head = '| Setting | Value | Default | Environment | Reload | Meaning |\n|---|---|---|---|---|---|'
  return `## ${title}\n\nTable \`[${table}]\`.\n\n${head}\n${rows.join('\n')}`
}

function code(text: string): string {
  return `\`${text}\``
}

function aliasesText({ aliases }: Declared): string {
  return aliases.length === 0 ? '' : `Also named ${aliases.map(code).join(', ')}.`
}

function descriptionOf({ schema }: Declared): string {
  return typeof schema.description === 'string' ? schema.description.replace(/\s+/g, ' ') : ''
}

/** Renders `.env.example`: all environment variables, commented out, each with its description. */
export function renderEnvExample(plugins: readonly ConfigurablePlugin[]): string {
  const parts = sectionsOf(plugins).flatMap(({ owner, prefix, declared }) => {
    const settings = declared.filter(setting => setting.env.length > 0)
    if (settings.length === 0) return []
    const lines = settings.flatMap(setting => {
      const [first, ...aliases] = setting.env
      const also = aliases.length > 0 ? `; also ${aliases.join(', ')}` : ''
      const { default: fallback } = setting.schema
      const value = setting.secret || fallback === undefined ? '' : envText(fallback)
      const about = `${keyText([...prefix, ...setting.path])}: ${describe(setting.schema)}${also}`
      const description = descriptionOf(setting)
      return [...(description === '' ? [] : [`# ${description}`]), `# ${about}`, `#${first}=${value}`, '']
    })
    return [`## ${owner}`, '', ...lines]
  })
  return parts.join('\n')
}

function envText(value: unknown): string {
  if (Array.isArray(value) && value.every(item => typeof item !== 'object')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
