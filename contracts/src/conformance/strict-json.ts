import { defineOperation, t } from '@svc/plugin-sdk'
import { type ConformanceSuite, holds } from './suite.ts'

/** Operation that accepts any JSON value, exposed on every surface; called by {@link strictJsonSuite}. */
export const strictJsonProbe = defineOperation({
  id: 'test.strict-json',
  summary: 'Accept any value',
  input: t.object({ value: t.unknown() }),
  output: t.object({ taken: t.boolean() }),
  effect: 'read',
  expose: { http: { method: 'POST', path: '/v1/strict-json' }, mcp: { name: 'strict_json' }, rpc: true }
})

/** Sends these bytes as the input of {@link strictJsonProbe}. Resolves to whether the surface accepted them. */
export type StrictJsonSend = (input: Buffer) => Promise<boolean>

const nested = (depth: number): string => `{"value":${'['.repeat(depth)}${']'.repeat(depth)}}`

const ACCEPTED: readonly (readonly [name: string, input: string])[] = [
  ['one key in several objects', '{"value":{"a":1,"b":[{"a":1},{"a":2}]}}'],
  ['strings that look like keys', '{"value":"\\"a\\":1,\\"a\\":2,\\"__proto__\\":{}"}'],
  ['100 levels of nesting', nested(100)],
  ['text beyond ASCII', '{"value":"grüße, 你好 😀"}']
]

const REJECTED: readonly (readonly [name: string, input: string | Buffer])[] = [
  ['a duplicate key', '{"value":"a","value":"b"}'],
  ['a duplicate key, once with an escape', '{"value":1,"\\u0076alue":2}'],
  ['a duplicate key in an inner object', '{"value":[1,{"a":1,"b":{},"a":2}]}'],
  ['the key __proto__', '{"value":{"__proto__":{"admin":true}}}'],
  ['the key constructor.prototype', '{"value":{"constructor":{"prototype":{"admin":true}}}}'],
  ['1,000 levels of nesting', nested(1_000)],
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from('{"value":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
  ],
  ['a byte order mark', '\uFEFF{"value":1}']
]

/** Twelve inputs that every surface with JSON must accept or reject in the same way. */
export function strictJsonSuite(send: StrictJsonSend): ConformanceSuite {
  return [
    ...ACCEPTED.map(([name, input]) => ({
      name: `accepts ${name}`,
      async run() {
        holds(await send(Buffer.from(input)), `the surface accepts ${name}`)
      }
    })),
    ...REJECTED.map(([name, input]) => ({
      name: `rejects ${name}`,
      async run() {
        holds(!(await send(Buffer.from(input as string))), `the surface rejects ${name}`)
      }
    }))
  ]
}
