import { type Operation, rpcMethodNames } from '@svc/plugin-sdk'
import plugin from '#plugin'

/** Returns the tables of the README: the name of each operation on each surface. */
export function surfaceTables(): string {
  const operations = (plugin.operations ?? []) as readonly Operation[]
  const own = operations.filter(({ id }) => !id.startsWith('orch.'))
  const methods = operations.flatMap(operation => {
    const [name, ...aliases] = rpcMethodNames(operation).filter(name => name.startsWith('orch.'))
    return name === undefined ? [] : { ...operation, names: [name, ...aliases] }
  })
  return [
    table(['Tool', 'Command', 'Method', 'Route', 'Does'], own.map(surfaces)),
    '',
    table(
      ['Method', 'Parameters', 'Does'],
      methods.map(({ names, input, summary }) => [names.map(code).join(', '), parametersOf(input), summary])
    )
  ].join('\n')
}

function surfaces(operation: Operation): string[] {
  const { summary, expose } = operation
  const { mcp, cli, http } = expose
  const names = typeof mcp === 'object' ? [mcp.name ?? '', ...(mcp.aliases ?? [])] : []
  return [
    names.map(code).join(', ') || '–',
    cli === undefined ? '–' : code(`svc ${[cli.command, ...(cli.args ?? []).map(arg => arg.toUpperCase())].join(' ')}`),
    rpcMethodNames(operation).map(code).join(', ') || '–',
    http === undefined ? '–' : code(`${http.method} ${http.path.replace('/api/orchestrator', '…')}`),
    summary
  ]
}

function parametersOf(input: Operation['input']): string {
  const required = new Set((input.required as readonly string[] | undefined) ?? [])
  const names = Object.keys((input.properties ?? {}) as object)
  return names.map(name => code(required.has(name) ? name : `${name}?`)).join(', ') || '–'
}

function code(text: string): string {
  return `\`${text}\``
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}
