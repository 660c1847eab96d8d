import { join } from 'node:path'
import { builtInSkills, declaredSecretResolver, kernelPort, skillsGateway } from '@svc/contracts'
import { definePlugin, type PluginContext } from '@svc/plugin-sdk'
import { contributeConsole } from './console.ts'
import type { DoctorParts } from './doctor.ts'
import { OpenClawGateway } from './gateway.ts'
import * as gatewayHandlers from './handlers/gateway.ts'
import * as sidecarHandlers from './handlers/sidecar.ts'
import * as skillHandlers from './handlers/skills.ts'
import * as diagnosis from './operations/diagnosis.ts'
import * as gatewayOperations from './operations/gateway.ts'
import * as sidecarOperations from './operations/sidecar.ts'
import * as skillOperations from './operations/skills.ts'
import { serveCommand, serveSkills } from './serve/command.ts'
import { type Settings, settings } from './settings.ts'
import { sidecarFolders } from './sidecar/locate.ts'
import { Sidecar } from './sidecar/sidecar.ts'
import { SkillRunner } from './skills/runner.ts'
import { SkillStore } from './skills/store.ts'

const { SIDECAR_TOPIC, sidecarStart, sidecarStatus, sidecarStop } = sidecarOperations
const { SKILLS_TOPIC } = skillOperations

const REFRESH_MS = 30_000

export default definePlugin({
  name: 'openclaw',
  summary: 'Connects the project to an external skills gateway, and runs its skills after an approval',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { secrets: declaredSecretResolver },
  provides: [skillsGateway],
  points: [builtInSkills],
  operations: [
    gatewayOperations.skillsEndpoints,
    gatewayOperations.skillsRemote,
    gatewayOperations.skillsSearchRemote,
    gatewayOperations.skillsSubscriptions,
    gatewayOperations.skillsSubscribe,
    gatewayOperations.skillsUnsubscribe,
    gatewayOperations.skillsNotify,
    gatewayOperations.skillsGatewayCall,
    diagnosis.skillsHealth,
    diagnosis.skillsDoctor,
    sidecarStatus,
    sidecarStart,
    sidecarStop,
    skillOperations.skillsImport,
    skillOperations.skillsInstalled,
    skillOperations.skillsShow,
    skillOperations.skillsApprovals,
    skillOperations.skillsApprove,
    skillOperations.skillsDeny,
    skillOperations.skillsTrust,
    skillOperations.skillsRemove,
    skillOperations.skillsRun,
    skillOperations.skillsInbox
  ],
  commands: [serveCommand],
  activate(ctx, { kernel, secrets }) {
    const { config, version } = ctx
    const gateway = new OpenClawGateway(config, version)
    ctx.effect('connection with the skills gateway', () => gateway.close())
    ctx.provide(skillsGateway, gateway)
    const folders = sidecarFolders()
    const sidecar = new Sidecar({
      projectRoot: ctx.projectRoot,
      folders,
      environment: process.env,
      disabled: config.sidecar_disabled,
      maxAttempts: config.sidecar_start_max_attempts,
      backoffMs: config.sidecar_start_backoff_ms,
      // The kernel ends the processes of a plugin with it, except those that a kept resource opened.
      launch: start => ctx.keep(`sidecar ${crypto.randomUUID()}`, start, () => undefined),
      probe: signal => {
        // A new gateway may publish other addresses than those that were found before its start.
        gateway.rediscover()
        return gateway.responds(signal)
      }
    })
    const store = async (): Promise<SkillStore> => new SkillStore(join(await ctx.dataDirectory(), 'skills'))
    const builtIns = () => kernel.current.items(builtInSkills).map(({ item }) => item)
    const runner = async (): Promise<SkillRunner> =>
      new SkillRunner({
        settings: config,
        store: await store(),
        gateway,
        secrets,
        builtIns,
        folders,
        environment: process.env
      })
    implementGateway(ctx, gateway)
    implementSidecar(ctx, { settings: config, gateway, sidecar })
    implementSkills(ctx, {
      settings: config,
      version,
      gateway,
      store,
      runner,
      builtIns,
      changed: () => ctx.changed(SKILLS_TOPIC)
    })
    ctx.command(serveCommand.command, serveSkills({ store, token: config.token }))
    contributeConsole(ctx)
    // The command line installs skills, and a sidecar can end: open pages read both again in intervals.
    const timer = setInterval(() => {
      for (const topic of [SKILLS_TOPIC, SIDECAR_TOPIC]) if (kernel.topics.watched(topic)) ctx.changed(topic)
    }, REFRESH_MS).unref()
    ctx.effect('refresh of open pages', () => clearInterval(timer))
  }
})

type Context = Pick<PluginContext<Settings>, 'implement' | 'changed' | 'config'>

function implementGateway(ctx: Context, gateway: OpenClawGateway): void {
  const { skillsEndpoints, skillsRemote, skillsSearchRemote, skillsSubscriptions } = gatewayOperations
  const { skillsSubscribe, skillsUnsubscribe, skillsNotify, skillsGatewayCall } = gatewayOperations
  ctx.implement(skillsEndpoints, gatewayHandlers.endpointsHandler(gateway, ctx.config.token !== undefined))
  ctx.implement(skillsRemote, gatewayHandlers.remoteHandler(gateway))
  ctx.implement(skillsSearchRemote, gatewayHandlers.searchHandler(gateway))
  ctx.implement(skillsSubscriptions, gatewayHandlers.subscriptionsHandler(gateway))
  ctx.implement(skillsSubscribe, gatewayHandlers.subscribeHandler(gateway))
  ctx.implement(skillsUnsubscribe, gatewayHandlers.unsubscribeHandler(gateway))
  ctx.implement(skillsNotify, gatewayHandlers.notifyHandler(gateway))
  ctx.implement(skillsGatewayCall, gatewayHandlers.gatewayCallHandler(gateway))
}

function implementSidecar(ctx: Context, parts: DoctorParts): void {
  const changed = (): void => ctx.changed(SIDECAR_TOPIC)
  ctx.implement(diagnosis.skillsHealth, sidecarHandlers.healthHandler(parts))
  ctx.implement(diagnosis.skillsDoctor, sidecarHandlers.doctorHandler(parts, changed))
  ctx.implement(sidecarStatus, sidecarHandlers.statusHandler(parts.sidecar))
  ctx.implement(sidecarStart, sidecarHandlers.startHandler(parts.sidecar, changed))
  ctx.implement(sidecarStop, sidecarHandlers.stopHandler(parts.sidecar, changed))
}

function implementSkills(ctx: Context, parts: skillHandlers.SkillParts): void {
  ctx.implement(skillOperations.skillsImport, skillHandlers.importHandler(parts))
  ctx.implement(skillOperations.skillsInstalled, skillHandlers.installedHandler(parts))
  ctx.implement(skillOperations.skillsShow, skillHandlers.showHandler(parts))
  ctx.implement(skillOperations.skillsApprovals, skillHandlers.approvalsHandler(parts))
  ctx.implement(skillOperations.skillsApprove, skillHandlers.approveHandler(parts))
  ctx.implement(skillOperations.skillsDeny, skillHandlers.denyHandler(parts))
  ctx.implement(skillOperations.skillsTrust, skillHandlers.trustHandler(parts))
  ctx.implement(skillOperations.skillsRemove, skillHandlers.removeHandler(parts))
  ctx.implement(skillOperations.skillsRun, skillHandlers.runHandler(parts))
  ctx.implement(skillOperations.skillsInbox, skillHandlers.inboxHandler(parts))
}
