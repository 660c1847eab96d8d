// Health check of the image: exits with 0 if the server is ready.
try {
  const { ok } = await fetch(process.env.READY_URL, { signal: AbortSignal.timeout(4_000) })
  process.exitCode = ok ? 0 : 1
} catch {
  process.exitCode = 1
}
