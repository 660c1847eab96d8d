import { type KernelAdmin, type Program, type WorkflowStep, workflowStep } from '@svc/contracts'
import { errorMessage, type PluginContext, settlesWithin } from '@svc/plugin-sdk'
import type { Job } from '../worker/job.ts'

/** Milliseconds that `done` waits for taps after the end of a program. */
const TAPS_MS = 5_000

export interface StepAnnouncer {
  stepped(step: WorkflowStep): void
  /** Resolves when all taps have ended, or after `TAPS_MS`. */
  done(): Promise<void>
}

/**
 * Triggers the hook of workflow steps for a program that a command runs. The process of a single command starts
 * without the project's plugins, so they are activated first if the program has workflows.
 */
export async function announceSteps(
  ctx: Pick<PluginContext, 'isTapped' | 'trigger' | 'log'>,
  { module }: Pick<Program, 'module'>,
  work: Job['work']['kind'],
  admin: KernelAdmin | undefined
): Promise<StepAnnouncer> {
  const hasSteps = work !== 'test' && module.workflows.length > 0
  if (hasSteps && admin?.serves === false) await activateOthers(ctx, admin)
  const taps: Promise<unknown>[] = []
  return {
    stepped(step) {
      if (ctx.isTapped(workflowStep)) taps.push(ctx.trigger(workflowStep, step))
    },
    async done() {
      await settlesWithin(TAPS_MS, Promise.allSettled(taps))
    }
  }
}

/** Activates the plugins that may tap steps: those that are not part of svc and open no ports. */
async function activateOthers({ log }: Pick<PluginContext, 'log'>, admin: KernelAdmin): Promise<void> {
  for (const { name, state } of admin.plugins()) {
    if (state !== 'resolved' && state !== 'discovered') continue
    if (admin.isBundled(name) || admin.manifest(name)?.serves === true) continue
    await admin.apply({ activate: [name] }).catch((error: unknown) => {
      log.warn(`plugin ${name} does not see the steps of workflows: ${errorMessage(error)}`)
    })
  }
}
