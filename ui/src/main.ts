import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { key } from './lib/key';
import { live } from './lib/live.svelte';

key.start();
const target = document.getElementById('app');
if (target) mount(App, { target });
live.start();
