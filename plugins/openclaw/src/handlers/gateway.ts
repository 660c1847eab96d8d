import type { SkillsGateway } from '@svc/contracts'
import { errorMessage, type Handler, parseStrictJson } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'
import type { OpenClawGateway } from '../gateway.ts'
import type {
  skillsEndpoints,
  skillsGatewayCall,
  skillsNotify,
  skillsRemote,
  skillsSearchRemote,
  skillsSubscribe,
  skillsSubscriptions,
  skillsUnsubscribe
} from '../operations/gateway.ts'
import { isOwner } from './owner.ts'

/** Method by which a gateway runs a skill without an approval. */
const EXECUTE = 'execute.skill'

export function endpointsHandler(gateway: SkillsGateway, hasToken: boolean): Handler<typeof skillsEndpoints> {
  return async (_, { signal }) => ({ ...(await gateway.endpoints(signal)), token_configured: hasToken })
}

export function remoteHandler(gateway: SkillsGateway): Handler<typeof skillsRemote> {
  return async (_, { signal }) => ({ skills: [...(await gateway.skills(signal))] })
}

export function searchHandler(gateway: Pick<OpenClawGateway, 'search'>): Handler<typeof skillsSearchRemote> {
  return async ({ query }, { signal }) => ({ skills: [...(await gateway.search(query, signal))] })
}

export function subscriptionsHandler(gateway: SkillsGateway): Handler<typeof skillsSubscriptions> {
  return async (_, { signal }) => ({ subscriptions: [...(await gateway.subscriptions(signal))] })
}

export function subscribeHandler(gateway: SkillsGateway): Handler<typeof skillsSubscribe> {
  return async ({ domain }, { signal }) => ({ payload: await gateway.subscribe(domain, signal) })
}

export function unsubscribeHandler(gateway: SkillsGateway): Handler<typeof skillsUnsubscribe> {
  return async ({ domain }, { signal }) => ({ payload: await gateway.unsubscribe(domain, signal) })
}

export function notifyHandler(gateway: SkillsGateway): Handler<typeof skillsNotify> {
  return async ({ domain, description }, { signal }) => ({
    payload: await gateway.notify(domain, description, signal)
  })
}

export function gatewayCallHandler(gateway: SkillsGateway): Handler<typeof skillsGatewayCall> {
  return async ({ method, params_json }, { signal, surface }) => {
    if (method === EXECUTE && !isOwner(surface))
      throw openclawErrors.create('SKG_METHOD_REFUSED', `${EXECUTE} cannot be called by ${surface}`, {
        hint: 'install the skill, have it approved, and call skills.run'
      })
    return { payload: await gateway.request(method, paramsOf(params_json), signal) }
  }
}

function paramsOf(text: string): unknown {
  try {
    return parseStrictJson(text)
  } catch (error) {
    throw openclawErrors.create('SKG_PARAMS_INVALID', `params_json is not JSON: ${errorMessage(error)}`, {
      hint: `write an object, such as '{"domain": "builds"}'`,
      cause: error
    })
  }
}
