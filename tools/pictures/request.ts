import { arrow, box, type Picture, text } from './drawing.ts'

/** Steps of a request: what each does, and the file that does it. */
const STEPS = [
  ['1', 'Listener', 'request id, trace context', 'plugins/http/src/exchange.ts'],
  ['2', 'Guard', 'host and origin of the request', 'plugins/http/src/guard.ts'],
  ['3', 'Route', 'table of the serving generation', 'plugins/http/src/route-table.ts'],
  ['4', 'Caller', 'token or none; its scopes', 'plugins/http/src/guard.ts'],
  ['5', 'Input', 'from path, query and body', 'plugins/http/src/operation-input.ts']
] as const
const OPERATION = [
  '6   scopes of the operation',
  '7   input against its schema',
  '8   circuit breaker of the operation',
  '9   taps of operation-starting: may refuse',
  '10  slot, if calls at a time are limited',
  '11  handler of the plugin, up to the deadline',
  '12  output against its schema',
  '13  taps of operation-ended: observe'
]

export function requestPicture(): Picture {
  const parts: string[] = [text(30, 40, 'An HTTP request', 'head')]
  parts.push(box({ x: 30, y: 84, width: 110, height: 56, title: 'Client', lines: ['any'] }))
  parts.push(arrow('M140 112 H184'))
  for (const [at, [number, title, line, file]] of STEPS.entries()) {
    const y = 60 + at * 86
    parts.push(
      box({ x: 188, y, width: 262, height: 70, kind: 'plugin', title: `${number}  ${title}`, lines: [line], file })
    )
    if (at > 0) parts.push(arrow(`M319 ${y - 16} V${y - 3}`))
  }
  parts.push(arrow('M450 439 H476 V170 H502'))
  parts.push(
    box({
      x: 506,
      y: 60,
      width: 330,
      height: 220,
      kind: 'kernel',
      title: 'Operation, on every surface',
      lines: OPERATION,
      file: 'kernel/src/core/operations.ts'
    })
  )
  parts.push(arrow('M836 190 H872'))
  const handler = [
    'calls services of other',
    'plugins: database,',
    'models, secrets, search',
    '',
    'throws errors with a code'
  ]
  parts.push(box({ x: 876, y: 60, width: 194, height: 220, kind: 'plugin', title: 'Unit of a plugin', lines: handler }))
  parts.push(arrow('M671 280 V316'))
  const answer = ['JSON, or an error with code and message;', 'x-request-id is always set']
  parts.push(
    box({
      x: 506,
      y: 320,
      width: 330,
      height: 94,
      kind: 'plugin',
      title: '14  Answer',
      lines: answer,
      file: 'plugins/http/src/error-reply.ts'
    })
  )
  parts.push(arrow('M671 414 V434'))
  const record = ['ring of requests, metrics, access log, http.request-finished']
  parts.push(
    box({
      x: 506,
      y: 438,
      width: 564,
      height: 70,
      kind: 'plugin',
      title: '15  Record',
      lines: record,
      file: 'plugins/http/src/access-log.ts, request-metrics.ts'
    })
  )
  parts.push(
    text(
      30,
      540,
      'If a reload replaces the plugin while the body is read, its new unit runs the call. A call that has begun ends on the code with which it began.'
    )
  )
  return {
    title: 'The life of an HTTP request',
    description:
      'The plugin http receives a request and checks host, origin and path. It finds the route in the table of the serving generation, identifies the caller and collects the input. The kernel checks scopes, input and circuit breaker, runs taps that may refuse, waits for a slot, calls the handler of the plugin, checks the output and informs observers. The plugin http answers and records the request.',
    width: 1100,
    height: 562,
    parts
  }
}
