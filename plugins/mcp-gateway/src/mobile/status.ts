import type { Role } from '../gate/role.ts'
import type { ToolCaller, ToolDesk } from '../tools/tool-desk.ts'

/** Builds the response of `GET /v1/mobile/status`; parts that the caller may not see are null. */
export async function mobileStatus(desk: ToolDesk, role: Role, caller: ToolCaller) {
  const ask = async (name: string): Promise<unknown> =>
    desk.has(role, name) ? (await desk.call(role, name, {}, caller)).result : null
  const [git_status, orchestrator_status] = await Promise.all([ask('svc_git_status'), ask('svc_orchestrator_status')])
  return { success: true, git_status, orchestrator_status }
}
