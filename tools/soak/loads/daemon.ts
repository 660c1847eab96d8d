import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { Refusal, Unavailable } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { repeat } from './load.ts'

const NAME = 'JSON-RPC'
const METHODS = ['orch.ping', 'orch.status', 'rpc.discover', 'soak.no_such_method'] as const

/** Calls methods of the daemon over TCP, each over its own connection. One of them does not exist. */
export function daemon(context: LoadContext): Load {
  return {
    name: NAME,
    run: () =>
      repeat(context, 2_500, (node, count) =>
        context.ledger.attempt(NAME, node.name, async () => {
          const method = METHODS[count % METHODS.length] as string
          const { error } = await callDaemon(node, method, {})
          if (method === 'soak.no_such_method') {
            if (error?.code !== -32601) throw new Error(`an unknown method returned ${JSON.stringify(error)}`)
            return new Refusal(error.code)
          }
          if (error === undefined) return undefined
          throw new Unavailable(`${method}: ${JSON.stringify(error)}`)
        })
      )
  }
}

export interface RpcAnswer {
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Calls one method over a new connection. Throws `Unavailable` without an answer. */
export async function callDaemon(node: SvcNode, method: string, params: object, token?: string): Promise<RpcAnswer> {
  const socket = connect(node.ports.daemon, '127.0.0.1')
  try {
    return await new Promise<RpcAnswer>((resolve, reject) => {
      const fail = (why: string): void => reject(new Unavailable(`${method}: ${why}`))
      socket.on('error', error => fail(error.message))
      socket.on('close', () => fail('the connection was closed'))
      socket.setTimeout(120_000, () => fail('no answer within 120 s'))
      readLines(socket, line => {
        const answer = JSON.parse(line)
        if (answer.id === 1) resolve(answer)
        else if (answer.id === 0 && answer.error !== undefined) fail(line)
      })
      const lines = [{ jsonrpc: '2.0', id: 1, method, params }]
      if (token !== undefined) lines.unshift({ jsonrpc: '2.0', id: 0, method: '$/auth', params: { token } })
      socket.write(lines.map(each => `${JSON.stringify(each)}\n`).join(''))
    })
  } finally {
    socket.destroy()
  }
}

function readLines(socket: Socket, onLine: (line: string) => void): void {
  createInterface({ input: socket })
    .on('line', onLine)
    .on('error', () => {})
}
