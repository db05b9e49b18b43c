// Hands the code of a pairing to the open page of SillyTavern. The code is behind `#`, so no
// server sees it.
const code = decodeURIComponent(location.hash.slice(1));
history.replaceState(null, '', location.pathname);
if (localStorage.getItem('language')?.startsWith('de')) {
  document.documentElement.lang = 'de';
  document.querySelector('p').textContent =
    'Loreloom ist verbunden. Dieser Tab kann geschlossen werden.';
}
if (code) {
  // For a page that is not open now.
  localStorage.setItem('loreloom-pairing-code', code);
  new BroadcastChannel('loreloom-pairing').postMessage(code);
  window.close();
}
