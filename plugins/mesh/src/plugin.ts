import { join } from 'node:path'
import { kernelAdmin, kernelPort, meshSettings, meshStatus } from '@svc/contracts'
import { parseMeshKey } from '@svc/contracts/mesh-signature'
import { definePlugin } from '@svc/plugin-sdk'
import { MachineSettings } from './machine-settings.ts'
import { MembershipFile } from './membership.ts'
import { type Settings, settings } from './settings.ts'

export default definePlugin({
  name: 'mesh',
  summary: 'Settings, identity and commands of a mesh of machines',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin },
  provides: [meshSettings, meshStatus],
  activate(ctx, { kernel, admin }) {
    const folder = join(kernel.stateRoot, 'plugins', ctx.name)
    const membership = new MembershipFile(join(folder, 'membership.json'))
    const machine = new MachineSettings({
      settings: () => ctx.config as Settings,
      membership,
      nodeIdFile: join(folder, 'node-id'),
      admin,
      parseKey: text => parseMeshKey(text, 'result_signing_key of [mesh]')
    })
    ctx.provide(meshSettings, machine)
    ctx.provide(meshStatus, { enabled: () => machine.enabled })
  }
})
