import {
  type RemoteTaskAck,
  type RemoteTaskCancel,
  type RemoteTaskEnvelope,
  type RemoteTaskPayload,
  type RemoteTaskResult,
  remoteTaskAck,
  remoteTaskCancel,
  remoteTaskEnvelope,
  remoteTaskPayload,
  remoteTaskResult
} from '@svc/contracts'
import { type JsonSchema, parseStrictJson } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { meshNodeErrors } from './errors.ts'

/** Parses the payload of each message type. All throw `MND_PAYLOAD_INVALID`. */
export const readEnvelope = reader<RemoteTaskEnvelope>('remote_task_envelope', remoteTaskEnvelope)
export const readTaskPayload = reader<RemoteTaskPayload>('the payload of a task', remoteTaskPayload)
export const readAck = reader<RemoteTaskAck>('remote_task_ack', remoteTaskAck)
export const readCancel = reader<RemoteTaskCancel>('remote_task_cancel', remoteTaskCancel)
export const readResult = reader<RemoteTaskResult>('remote_task_result', remoteTaskResult)

function reader<A>(name: string, schema: JsonSchema): (text: string) => A {
  const check = schemaCheck(schema)
  return text => {
    let value: unknown
    try {
      value = parseStrictJson(text)
    } catch {
      throw invalid(name, 'it is not JSON')
    }
    const checked = check(value)
    if (!checked.ok) throw invalid(name, checked.text)
    return checked.value as A
  }
}

function invalid(name: string, why: string): Error {
  return meshNodeErrors.create('MND_PAYLOAD_INVALID', `${name}: ${why}`, {
    hint: 'check the version of svc on the node that sent it'
  })
}
