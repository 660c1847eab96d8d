import type { PluginManifest } from '@svc/plugin-sdk'

/** Converts text for all surfaces to text for a terminal. */
export type PlainText = (text: string) => string

/**
 * Creates the conversion: it removes Markdown syntax and replaces the name of an MCP tool by the command of the same
 * operation.
 */
export function plainTextOf(manifests: readonly PluginManifest[]): PlainText {
  let commands: ReadonlyMap<string, string> | undefined
  return text => {
    const plain = withoutMarkdown(text)
    if (!TOOL.test(plain)) return plain
    commands ??= commandsByTool(manifests)
    return plain.replace(TOOLS, name => commands?.get(name) ?? name)
  }
}

const TOOL = /\bsvc_[a-z0-9_]+\b/
const TOOLS = new RegExp(TOOL, 'g')

function commandsByTool(manifests: readonly PluginManifest[]): ReadonlyMap<string, string> {
  const commands = new Map<string, string>()
  for (const { id, expose } of manifests.flatMap(({ operations }) => operations)) {
    if (typeof expose.mcp !== 'object') continue
    const command = expose.cli === undefined ? `call ${id}` : expose.cli.command
    for (const name of [expose.mcp.name, ...(expose.mcp.aliases ?? [])]) {
      if (name !== undefined) commands.set(name, `svc ${command}`)
    }
  }
  return commands
}

/** Removes the syntax of code spans, bold text and links; other characters stay. */
export function withoutMarkdown(text: string): string {
  if (!/[`*[]/.test(text)) return text
  return text
    .replace(/`([^`\n]+)`/g, '$1')
    .replace(/\*\*([^*\n]+)\*\*/g, '$1')
    .replace(/\[([^\]\n]+)\]\((https?:[^)\s]+)\)/g, '$1 ($2)')
}
