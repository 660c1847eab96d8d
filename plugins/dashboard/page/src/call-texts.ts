import type { OperationInfo } from './protocol.ts'

/** Returns a curl command for the operation's HTTP route; null if it has none. */
export function curlText({ expose: { http } }: OperationInfo, input: Readonly<Record<string, unknown>>): string | null {
  if (http === undefined) return null
  const rest: Record<string, unknown> = { ...input }
  const path = http.path.replace(/:([^/]+)/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    return value === undefined ? `{${name}}` : encodeURIComponent(String(value))
  })
  const inQuery = http.method === 'GET' || http.method === 'DELETE'
  const query = inQuery
    ? new URLSearchParams(Object.entries(rest).map(([name, value]) => [name, valueText(value)])).toString()
    : ''
  const url = `${location.origin}${path}${query === '' ? '' : `?${query}`}`
  const method = http.method === 'GET' ? '' : `-X ${http.method} `
  const body = inQuery ? '' : ` \\\n  -H 'content-type: application/json' \\\n  -d ${quoted(JSON.stringify(rest))}`
  return `curl ${method}${quoted(url)}${body}`
}

/** Returns the command line that calls the operation. */
export function callText({ id }: OperationInfo, input: Readonly<Record<string, unknown>>): string {
  return `svc call ${id} ${quoted(JSON.stringify(input))}`
}

/** Returns the MCP request that calls the operation; null if it is no tool. */
export function mcpText({ mcp }: OperationInfo, input: Readonly<Record<string, unknown>>): string | null {
  if (mcp === undefined) return null
  const params = { name: mcp, arguments: input }
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, null, 2)
}

function valueText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Quotes a word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
