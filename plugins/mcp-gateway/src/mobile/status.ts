import type { Role } from '../gate/role.ts'
import type { ToolCaller, ToolDispatcher } from '../tools/tool-dispatcher.ts'

/** Builds the response of `GET /v1/mobile/status`; parts that the caller may not see are null. */
export async function mobileStatus(dispatcher: ToolDispatcher, role: Role, caller: ToolCaller) {
  const callIfAllowed = async (name: string): Promise<unknown> =>
    dispatcher.has(role, name) ? (await dispatcher.call(role, name, {}, caller)).result : null
  const [git_status, orchestrator_status] = await Promise.all([
    callIfAllowed('svc_git_status'),
    callIfAllowed('svc_orchestrator_status')
  ])
  return { success: true, git_status, orchestrator_status }
}
