import { resolve } from 'node:path'
import { languageCompiler, meshStatus, programPages, rewardEvents, sendReward, webProject } from '@svc/contracts'
import { definePlugin, type PluginContext } from '@svc/plugin-sdk'
import { buildCommand, runBuild } from './build-command.ts'
import { checkCommand, runCheck } from './check-command.ts'
import { compilation, descriptionOf } from './compilation.ts'
import {
  type CheckedFile,
  type CompileOptions,
  checkFile,
  type FormattedFile,
  formatFile,
  hasErrors
} from './compile.ts'
import { formatCommand, runFormat } from './format-command.ts'
import { lower } from './ir/lower.ts'
import { entry, type RunEntry } from './jobs/compile-job.ts'
import { compileSource } from './jobs/compile-thread.ts'
import { logTo } from './log-file.ts'
import { lspCommand, runLsp } from './lsp-command.ts'
import { newCommand, runNew } from './new-command.ts'
import {
  type CompileRequest,
  checkHandler,
  checkOperation,
  formatHandler,
  formatOperation,
  irHandler,
  irOperation,
  projectionHandler,
  projectionOperation
} from './operations.ts'
import { generatePages } from './program-pages.ts'
import { hostProbe } from './projection/host-probe.ts'
import { runtimeProjection } from './projection/runtime-projection.ts'
import { rewardsFor, type Work } from './reward.ts'
import { type Settings, settings } from './settings.ts'
import type { SourceFile } from './source-file.ts'
import { readSome, readSources } from './source-files.ts'
import { languageSurface, pipelineHandler, pipelineStatus, surfaceHandler } from './surface-operations.ts'
import { webGeneration } from './web/components/web-generation.ts'
import { v0Health } from './web/v0-health.ts'

export default definePlugin({
  name: 'compiler',
  summary: 'Compiler of the source language: checks, formats and builds programs',
  config: settings,
  provides: [languageCompiler, programPages],
  operations: [checkOperation, formatOperation, irOperation, projectionOperation, languageSurface, pipelineStatus],
  hooks: [rewardEvents],
  // A command can only use plugins that are required here.
  requires: { project: webProject },
  optional: { mesh: meshStatus },
  commands: [buildCommand, checkCommand, formatCommand, lspCommand, newCommand],
  activate(ctx, { project, mesh }) {
    const ended = (work: Work): void => {
      if (!ctx.isTapped(rewardEvents)) return
      for (const event of rewardsFor(work)) sendReward(ctx, () => event)
    }
    const read = (paths: readonly string[]): Promise<SourceFile[]> => readSome(paths, ctx.config.examples_strict_parse)
    const check = checker(ctx)
    // No host supplies functions to the pages of a build.
    const checkForBuild = checker(ctx, { hostFunctions: false })
    const format = formatter(ctx)
    const compile = requestCompiler(ctx)
    ctx.implement(checkOperation, checkHandler(ctx.projectRoot, compile, ended))
    ctx.implement(formatOperation, formatHandler(ctx.projectRoot, compile))
    ctx.implement(irOperation, irHandler(ctx.projectRoot, compile))
    const projected = ({ parsed, file, types }: CheckedFile) =>
      runtimeProjection(
        lower(parsed.module, file.text, types ?? {}),
        ctx.config.projection_include_host_probe ? hostProbe() : null
      )
    ctx.implement(projectionOperation, projectionHandler(ctx.projectRoot, compile))
    ctx.implement(languageSurface, surfaceHandler())
    ctx.implement(pipelineStatus, pipelineHandler(ctx.projectRoot, compile))
    ctx.provide(languageCompiler, { compile: compilation(check, compile), read, describe: descriptionOf })
    const generation = webGeneration(
      () => ctx.config,
      line => process.stderr.write(`${line}\n`),
      message => ctx.log.warn(message)
    )
    ctx.provide(programPages, { generate: generatePages(web => generation.components(web)) })
    ctx.command(checkCommand.command, runCheck({ read, check, project: projected, ended }))
    ctx.command(
      formatCommand.command,
      runFormat({ read, format, retries: () => ctx.config.reconcile_max_retry, ended })
    )
    ctx.command(newCommand.command, runNew())
    ctx.health('v0 components', async () => {
      const { web_ts_out } = ctx.config
      if (web_ts_out === undefined) return { status: 'ok', detail: 'web_ts_out is not set' }
      return await v0Health(ctx.projectRoot, web_ts_out, paths => readSources(paths, ctx.config.examples_strict_parse))
    })
    ctx.command(
      buildCommand.command,
      runBuild({
        read,
        check: checkForBuild,
        ended,
        settings: () => ({
          scaffold: ctx.config.emit_scaffold,
          express: ctx.config.emit_express_server,
          tanstackStart: ctx.config.tanstack_start,
          projectTanstackStart: project.tanstackStart(),
          v0ApiUrl: ctx.config.v0_api_url,
          webTsOut: ctx.config.web_ts_out === undefined ? undefined : resolve(ctx.projectRoot, ctx.config.web_ts_out)
        }),
        ...generation
      })
    )
    ctx.command(
      lspCommand.command,
      runLsp({
        version: ctx.version,
        options: () => ({ ...checkOptions(ctx.config), mesh: mesh?.enabled() ?? false }),
        reward(event) {
          if (ctx.config.lsp_reward_events) sendReward(ctx, () => event)
        },
        failed: error => ctx.log.error(error instanceof Error ? (error.stack ?? error.message) : String(error))
      })
    )
  }
})

type Context = Pick<PluginContext<Settings>, 'config' | 'log' | 'projectRoot'>

function checkOptions(config: Settings): Omit<CompileOptions, 'script'> {
  return {
    allowComponentFunctions: config.allow_legacy_component_fn,
    suppressHookLints: config.suppress_legacy_hook_lints
  }
}

function checker(
  ctx: Context,
  options: Pick<CompileOptions, 'hostFunctions'> = {}
): (file: SourceFile, script: boolean, strict?: boolean) => Promise<CheckedFile> {
  return async (file, script, strict = false) => {
    const startedAt = performance.now()
    const checked = checkFile(file, { ...checkOptions(ctx.config), ...options, script, strict })
    const isValid = !hasErrors(checked.diagnostics)
    const hir =
      ctx.config.hir_dump && isValid ? lower(checked.parsed.module, file.text, checked.types ?? {}) : undefined
    await logRun(ctx, entry('check', file, checked.diagnostics, startedAt, hir))
    return checked
  }
}

function formatter(ctx: Context): (file: SourceFile) => Promise<FormattedFile> {
  return async file => {
    const startedAt = performance.now()
    const formatted = formatFile(file)
    await logRun(ctx, entry('format', file, formatted.diagnostics, startedAt))
    return formatted
  }
}

/** Returns the compiler of requests, which must not hold the event loop for long. */
function requestCompiler(ctx: Context): CompileRequest {
  return async (kind, { path, text }, { script, strict = false }, signal) => {
    const { config } = ctx
    const options = { ...checkOptions(config), script, strict }
    const parts = { reportsHir: config.hir_dump, probesHost: config.projection_include_host_probe }
    const { run, outcome } = await compileSource({ kind, path, text, options, ...parts }, signal)
    if (run !== undefined) await logRun(ctx, run)
    return outcome
  }
}

async function logRun({ config, log, projectRoot }: Context, run: RunEntry): Promise<void> {
  const { hir, path } = run
  if (config.log_file !== undefined) await logTo(resolve(projectRoot, config.log_file), run, log)
  else if (hir !== undefined) log.info(`HIR of ${path}: ${JSON.stringify(hir)}`)
}
