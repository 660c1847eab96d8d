import type { Role } from '../gate/role.ts'
import type { ToolCaller, ToolDesk } from '../tools/tool-desk.ts'

/** What `GET /v1/mobile/status` answers; null for what no plugin offers, or not to this caller. */
export async function mobileStatus(desk: ToolDesk, role: Role, caller: ToolCaller) {
  const ask = async (name: string): Promise<unknown> =>
    desk.has(role, name) ? (await desk.call(role, name, {}, caller)).result : null
  const [git_status, orchestrator_status] = await Promise.all([ask('svc_git_status'), ask('svc_orchestrator_status')])
  return { success: true, git_status, orchestrator_status }
}
