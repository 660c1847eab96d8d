import {
  adminErrors,
  httpHandlers,
  httpServer,
  httpUpgrades,
  kernelAdmin,
  kernelPort,
  pagesTopic,
  surfaces,
  TokenBuckets
} from '@svc/contracts'
import { definePlugin, errorMessage, ref } from '@svc/plugin-sdk'
import { AddressFile, mainAddress } from './address.ts'
import { CallDoor } from './call-door.ts'
import { dashboardCommand, openOwn, runDashboard, runSessions, runUp, sessionsCommand, upCommand } from './commands.ts'
import { ConsoleState } from './console-state.ts'
import { ModuleFiles } from './files/module-files.ts'
import { PageFiles } from './files/page-files.ts'
import { INBOX_TOPIC, inboxOperation, pagesOperation, searchOperation } from './operations.ts'
import type { Entries } from './registry/entries.ts'
import { Registry } from './registry/registry.ts'
import { BrokenReports } from './registry/report-broken.ts'
import { consoleRoutes } from './routes.ts'
import { Access, parsePublicUrl } from './session/access.ts'
import { SignInCodes } from './session/codes.ts'
import { newSessionState, Sessions } from './session/sessions.ts'
import { settings } from './settings.ts'
import { listInbox, listPages, search } from './sources/handlers.ts'
import { InboxTopics } from './sources/inbox-topics.ts'
import { Sources } from './sources/sources.ts'
import { StreamServer } from './stream/stream-server.ts'

const MAX_TRIES_PER_MINUTE = 10
const HOUR_MS = 3_600_000

export default definePlugin({
  name: 'dashboard',
  summary: 'Web console: plugins, settings, requests and everything that waits for a person',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin, server: ref(httpServer) },
  operations: [inboxOperation, searchOperation, pagesOperation],
  commands: [dashboardCommand, sessionsCommand, upCommand],
  async activate(ctx, { kernel, admin, server }) {
    const { config, log } = ctx
    const readOnly = config.read_only
    const publicUrl = parsePublicUrl(config.public_url)
    const limits = { idleMs: config.session_idle_hours * HOUR_MS, maxMs: config.session_max_hours * HOUR_MS }
    const openSessions = async (): Promise<Sessions> =>
      new Sessions(await ctx.dataDirectory(), await ctx.keep('sessions', newSessionState, () => {}), limits, log)
    ctx.command(
      dashboardCommand.command,
      runDashboard(() => ctx.dataDirectory())
    )
    ctx.command(
      upCommand.command,
      runUp(() => ctx.dataDirectory())
    )
    ctx.command(sessionsCommand.command, runSessions(openSessions))
    // A process that runs one command serves no page, and must not touch the files of a running server.
    if (admin?.serves === false) {
      for (const operation of [inboxOperation, searchOperation, pagesOperation])
        ctx.implement(operation, () => {
          throw adminErrors.create(
            'CLI_NO_DAEMON',
            `${operation.id} reads what the running server shows, and none runs`,
            {
              hint: 'start one with svc serve'
            }
          )
        })
      return
    }

    const folder = await ctx.dataDirectory()
    const sessions = await openSessions()
    ctx.effect('sessions', () => sessions.flush())
    const codes = new SignInCodes(folder)
    codes.removeExpired()
    const tries = await ctx.keep(
      'sign-in tries',
      () => new TokenBuckets(MAX_TRIES_PER_MINUTE),
      () => {}
    )
    const addressFile = new AddressFile(folder)
    ctx.onDrain('address', reason => {
      if (reason !== 'replaced') addressFile.remove()
    })
    const opening = await ctx.keep(
      'opening',
      () => ({ isDone: config.open === 'no' }),
      () => {}
    )
    const announce = (): void => {
      const url = mainAddress(server?.available)
      if (url === null) return
      try {
        if (addressFile.write(url, publicUrl?.origin ?? null))
          log.info(`console: ${publicUrl?.origin ?? url}/ (sign in with: svc dashboard)`)
      } catch (error) {
        log.warn(`the address of the console could not be written: ${errorMessage(error)}`, {
          hint: 'svc dashboard cannot sign in until it is'
        })
        return
      }
      // Once for each server, not again after a reload.
      if (opening.isDone) return
      opening.isDone = true
      void openOwn(folder, config.open)
    }

    const reports = new BrokenReports(admin, log)
    ctx.effect('findings', () => reports.close())
    const inbox = new InboxTopics(kernel, () => ctx.changed(INBOX_TOPIC))
    ctx.effect('topics of the inbox', () => inbox.close())
    const registry = new Registry(current => {
      announce()
      reports.update(current.broken)
      inbox.follow(current)
      stream.refresh()
    })
    ctx.effect('registry', () => registry.close())
    const access = new Access(sessions, publicUrl)
    const pages = new PageFiles(ctx.packageRoot)
    const isIsolated = (plugin: string): boolean =>
      (admin?.plugins() ?? []).some(({ name, isolation }) => name === plugin && isolation !== 'in-process')
    const entries = (): Entries => registry.current
    const sources = new Sources(kernel, readOnly)
    ctx.implement(inboxOperation, listInbox(sources, entries))
    ctx.implement(searchOperation, search(sources, entries))
    ctx.implement(pagesOperation, listPages(entries))
    const modules = new ModuleFiles({ kernel, entries, isIsolated })
    const door = new CallDoor({ kernel, readOnly, log })
    const state = new ConsoleState({ kernel, entries, pages, modules, readOnly })
    const stream = new StreamServer({
      kernel,
      access,
      sessions,
      build: () => pages.build(),
      generation: () => registry.current.generation,
      onPages: hasPages => inbox.watch(hasPages),
      report: (error, operation) => log.error(`reading ${operation} for a page failed`, { error, operation })
    })
    // In an effect as well, since an activation that fails is not drained.
    ctx.effect('stream', () => stream.close(true))
    ctx.onDrain('stream', reason => stream.close(reason === 'replaced'))
    ctx.effect(
      'changed pages',
      kernel.topics.subscribe([pagesTopic], () => stream.announce())
    )
    ctx.contribute(httpUpgrades, stream, 'stream')
    const onEnd = (session: string): void => stream.endSession(session)
    ctx.contribute(
      httpHandlers,
      consoleRoutes({ access, sessions, codes, tries, readOnly, log, onEnd, pages, modules, door, state }),
      'console'
    )
    ctx.contribute(surfaces, registry, 'contributions to the console')
  }
})
