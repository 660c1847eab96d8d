/** Versions of the packages that generated modules import. */
export const DEPENDENCIES = {
  '@capacitor/app': '8.1.1',
  '@capacitor/core': '8.5.2',
  '@capacitor/push-notifications': '8.1.2',
  '@tanstack/react-query': '5.108.0',
  '@tanstack/react-router': '1.170.46',
  react: '19.3.1',
  'react-dom': '19.3.1',
  zod: '4.6.7'
} as const

/** Versions of the build tools in the scaffold. */
export const DEV_DEPENDENCIES = {
  '@types/react': '19.3.0',
  '@types/react-dom': '19.3.0',
  '@vitejs/plugin-react': '6.3.0',
  typescript: '7.0.2',
  vite: '8.3.8'
} as const

/** Additional packages of the server-rendered layout. */
export const START_DEPENDENCIES = { '@tanstack/react-start': '1.169.5' } as const

/** Packages of `server.ts`. */
export const EXPRESS_DEPENDENCIES = { express: '5.3.0' } as const
export const EXPRESS_DEV_DEPENDENCIES = { '@types/express': '5.0.6', '@types/node': '20.19.21' } as const

/** Capacitor packages of a mobile application. */
export const CAPACITOR_DEV_DEPENDENCIES = { '@capacitor/cli': '8.5.2' } as const
export const CAPACITOR_PLATFORMS = { android: '8.5.2', ios: '8.5.2' } as const
