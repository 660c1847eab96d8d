// Shows the cached page if the gateway is unreachable. Caches only the page and its icon.
const CACHE = 'svc-mobile-1'
const KEPT = ['/v1/mobile', '/v1/mobile/icon.svg', '/v1/mobile/manifest.webmanifest']

addEventListener('install', event => event.waitUntil(caches.open(CACHE).then(cache => cache.addAll(KEPT))))

addEventListener('fetch', event => {
  const { request } = event
  if (request.method !== 'GET' || !KEPT.includes(new URL(request.url).pathname)) return
  event.respondWith(
    fetch(request).then(
      async response => {
        if (response.ok) await (await caches.open(CACHE)).put(request, response.clone())
        return response
      },
      () => caches.match(request)
    )
  )
})
